"""The box in which strangers' programs run: `open_box` finds the means, proves them, and refuses without them."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from runners.agent.box import seccomp
from runners.agent.box.bwrap import BwrapBox
from runners.agent.box.hierarchy import find_hierarchy
from runners.agent.box.run import Box, Cancelled, Command, Ended, Limits, Outcome
from runners.agent.box.selftest import prove
from runners.agent.box.sweep import remove_tree, sweep
from runners.agent.box.unsafe import UnsafeBox
from runners.agent.errors import Unavailable

__all__ = ["UNPRIVILEGED_UID", "Box", "BoxSettings", "Cancelled", "Command", "Ended", "Limits", "Outcome", "open_box"]

UNPRIVILEGED_UID = 64999
"""Nobody's: no other service's processes share it, as they would share `nobody`."""


@dataclass(frozen=True, slots=True)
class BoxSettings:
    """What an operator decides about the box."""

    scratch: Path
    """Of the agent alone. Used by `--unsafe` only; swept at every start."""

    key: str
    """Names this agent's control groups."""

    unsafe: bool = False
    uid: int = UNPRIVILEGED_UID
    cgroup: str | None = None


def open_box(settings: BoxSettings) -> Box:
    """Sweep what an earlier agent left, then open a proven box. Raises Unavailable; never answers a weaker box than asked."""
    settings.scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
    for left in settings.scratch.iterdir():
        remove_tree(left)
    prlimit = found("prlimit", "apt-get install util-linux")
    if settings.unsafe:
        return UnsafeBox(prlimit, settings.scratch)
    seccomp.program()
    hierarchy = find_hierarchy(settings.cgroup)
    hierarchy.prepare()
    sweep(hierarchy, settings.key)
    box = BwrapBox(
        bwrap=found("bwrap", "apt-get install bubblewrap"),
        prlimit=prlimit,
        hierarchy=hierarchy,
        key=settings.key,
        uid=settings.uid if os.geteuid() == 0 else None,
    )
    prove(box)
    return box


def found(program: str, remedy: str) -> str:
    """The path of a program the box is made of. Raises Unavailable."""
    path = shutil.which(program, path="/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin")
    if path is None:
        raise Unavailable(f"{program} is not installed", remedy)
    return path
