"""How long a thread of a server process may keep the interpreter from the others that want it.

Here and not in the front, for the waiting room of the benchmark takes the same turns.
"""

from __future__ import annotations

import sys

TURN_SECONDS = 0.0005
"""Python's own 5 ms are for programs with one busy thread. A call of a runner changes between loop, thread and database
half a dozen times; each time it would wait that long for a page that is being rendered, or for a sweep."""


def take_turns() -> None:
    """Share the interpreter in short turns, for as long as this process lives."""
    sys.setswitchinterval(TURN_SECONDS)
