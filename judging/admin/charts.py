"""PURE: an hour of minutes as bars, for a picture drawn without any script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

MINUTES = 60
HEIGHT = 100.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One minute: its place from the left, its height and the higher one behind it, in the picture's own units."""

    x: int
    at: datetime
    value: float
    height: float
    behind_value: float | None
    behind: float

    @property
    def y(self) -> str:
        """The top edge, as the picture writes it: from above, with a point whatever the language."""
        return f"{HEIGHT - self.height:.2f}"

    @property
    def tall(self) -> str:
        """The height, as the picture writes it."""
        return f"{self.height:.2f}"

    @property
    def behind_y(self) -> str:
        """The top edge of the one behind."""
        return f"{HEIGHT - self.behind:.2f}"

    @property
    def behind_tall(self) -> str:
        """The height of the one behind."""
        return f"{self.behind:.2f}"


@dataclass(frozen=True, slots=True)
class Chart:
    """Sixty bars and the value of the highest."""

    bars: tuple[Bar, ...]
    top: float


def chart(now: datetime, values: Mapping[datetime, float | None], behind: Mapping[datetime, float | None] | None = None) -> Chart:
    """The last hour by minutes; a minute without a value is a bar of height 0."""
    last = now.replace(second=0, microsecond=0)
    minutes = [last - timedelta(minutes=MINUTES - 1 - place) for place in range(MINUTES)]
    front = [values.get(minute) or 0.0 for minute in minutes]
    back = [(behind or {}).get(minute) for minute in minutes]
    top = max([*front, *(value or 0.0 for value in back)], default=0.0)
    scale = HEIGHT / top if top else 0.0
    bars = (
        Bar(place, minute, front[place], front[place] * scale, back[place], (back[place] or 0.0) * scale)
        for place, minute in enumerate(minutes)
    )
    return Chart(tuple(bars), top)
