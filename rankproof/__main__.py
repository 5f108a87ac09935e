"""`python -m rankproof`: the command line, for an interpreter whose scripts are not on the path."""

import sys

from rankproof.cli import main

if __name__ == "__main__":
    sys.exit(main())
