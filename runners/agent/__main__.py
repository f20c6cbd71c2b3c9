"""`python -m runners.agent`."""

import sys

from runners.agent.cli import main
from runners.agent.first_process import below_an_init

if __name__ == "__main__":
    sys.exit(below_an_init(lambda: main(sys.argv[1:])))
