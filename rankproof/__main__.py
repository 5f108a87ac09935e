"""`python -m rankproof`: the command line, for an interpreter whose scripts are not on the path."""

import sys

from rankproof.cli import command

if __name__ == "__main__":
    sys.exit(command())
