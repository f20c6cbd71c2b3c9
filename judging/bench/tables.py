"""Figures for people and for programs."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from typing import Any

from django.db import connection

from judging.bench.measure import Figure, Spread
from judging.bench.size import Size


def line(figure: Figure) -> str:
    """One figure in a line: the case, the ratio and its target, both sides' medians and spreads."""
    sides = f"{_side(figure.ours)} {figure.unit}"
    if figure.floor is not None:
        sides += f" against {_side(figure.floor)}"
    words = f"  {figure.case:<58} {figure.ratio:>8.2f} {_target(figure):<16} {sides}"
    return f"{words}\n{'':>4}{figure.note}" if figure.note else words


def document(figures: Sequence[Figure], size: Size, *, durable: bool) -> dict[str, Any]:
    """Everything, with the machine's facts."""
    return {"machine": facts(durable=durable), "size": size.name, "figures": [figure.document() for figure in figures]}


def machine(*, durable: bool) -> str:
    """The machine in a line."""
    return ", ".join(f"{name} {value}" for name, value in facts(durable=durable).items())


def facts(*, durable: bool) -> dict[str, Any]:
    """What a figure depends on that is not ours."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version')")
        (version,) = cursor.fetchone()
    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "Python": platform.python_version(),
        "PostgreSQL": version.split()[0],
        "commits": "wait for the disk" if durable else "do not wait for the disk",
    }


def _side(spread: Spread) -> str:
    return f"{_short(spread.median)} ({_short(spread.low)}-{_short(spread.high)})"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def _target(figure: Figure) -> str:
    if figure.met is None:
        return ""
    bound = f"<= {figure.most:g}" if figure.most is not None else f">= {figure.least:g}"
    return f"{bound} {'met' if figure.met else 'MISSED'}"
