"""How long to wait before asking again (runner-agent §1)."""

from __future__ import annotations

import random

SHORTEST_S, LONGEST_S, SPREAD = 1.0, 30.0, 0.2


class Backoff:
    """1 to 30 s, doubling, ±20 %, so that a fleet that failed together does not come back together."""

    def __init__(self, chance: random.Random | None = None) -> None:
        self._chance = chance or random.Random()
        self._next_s = SHORTEST_S

    def reset(self) -> None:
        self._next_s = SHORTEST_S

    def delay_s(self, retry_after_s: float | None = None) -> float:
        """The next delay. What the server asks for can only lengthen it."""
        delay = self._next_s * self._chance.uniform(1 - SPREAD, 1 + SPREAD)
        self._next_s = min(self._next_s * 2, LONGEST_S)
        return max(delay, retry_after_s or 0.0)
