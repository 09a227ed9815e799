"""python -m seqloom: the same as the command `seqloom`."""

import sys

from seqloom.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
