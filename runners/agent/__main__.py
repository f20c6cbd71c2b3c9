"""`python -m runners.agent`."""

import sys

from runners.agent.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
