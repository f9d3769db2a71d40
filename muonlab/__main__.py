"""The command `muonlab`, and `python -m muonlab`."""

import sys

from muonlab import doctor


def main() -> int:
    """Runs the command; where a library is missing the doctor, who needs none of them, says it."""
    try:
        from muonlab import cli

        return cli.main()
    except ModuleNotFoundError as error:
        print(f"muonlab: {error}", file=sys.stderr)
        return doctor.main()


if __name__ == "__main__":
    sys.exit(main())
