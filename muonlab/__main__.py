"""The command `muonlab`, and `python -m muonlab`."""

import sys
from collections.abc import Callable

from muonlab import doctor

main: Callable[[], int]
try:
    from muonlab import cli

    main = cli.main
except ModuleNotFoundError:  # a library is missing: the doctor says which, and needs none of them
    main = doctor.main

if __name__ == "__main__":
    sys.exit(main())
