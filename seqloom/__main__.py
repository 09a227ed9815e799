"""The command `seqloom`, and `python -m seqloom`: Ctrl-C ends it quietly even while it is still being imported."""

import sys


def main() -> int:
    try:
        from seqloom.cli.app import main as run

        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
