"""How soon to look again after a look that passed work by: nobody announces that a lock was let go."""

from __future__ import annotations

import math
import random

# The locks of verbs last milliseconds, and a stuck one must not draw a storm: twice as long each time in a row.
PASSED_BY_SECONDS = 0.2
PASSED_BY_DOUBLINGS = 7


def soon(passed_by: int) -> float:
    """Seconds until the next look after so many in a row that passed work by; after none there is no hurry: infinity."""
    if passed_by == 0:
        return math.inf
    return PASSED_BY_SECONDS * 2.0 ** min(passed_by - 1, PASSED_BY_DOUBLINGS) * random.uniform(0.5, 1)
