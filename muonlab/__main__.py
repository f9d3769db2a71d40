"""The command `muonlab`, and `python -m muonlab`."""

import sys

from muonlab import doctor


def main() -> int:
    """Runs the command; where a library is missing the doctor says it, and the status is not 0."""
    try:
        from muonlab import cli

        return cli.main()
    except ModuleNotFoundError as error:
        print(f"muonlab: {error}", file=sys.stderr)
        return doctor.main() or 1


if __name__ == "__main__":
    sys.exit(main())
