"""Which control groups this machine offers, and where the agent may make its own."""

from __future__ import annotations

import os
from pathlib import Path

from runners.agent.box import cgroup
from runners.agent.box.cgroup1 import Hierarchy1
from runners.agent.box.cgroup2 import AGENT_LEAF, Hierarchy2


def find_hierarchy(parent: str | None = None, *, mountinfo: str | None = None, own: str | None = None) -> cgroup.Hierarchy:
    """v2 where it has the controllers, else v1. `parent` names the group to work below, relative to the mount.

    Raises Unavailable when neither is mounted. Nothing is made yet: see `prepare`.
    """
    found = cgroup.mounted(mountinfo if mountinfo is not None else Path("/proc/self/mountinfo").read_text())
    if found.unified and set(cgroup.NEEDED) <= _controllers(found.unified):
        return Hierarchy2(_parent2(found.unified, parent, own))
    if found.controllers:
        return Hierarchy1(found.controllers, (parent or cgroup.PARENT).strip("/"))
    raise cgroup.unavailable("no control groups are mounted")


def _controllers(unified: Path) -> set[str]:
    try:
        return set((unified / "cgroup.controllers").read_text().split())
    except OSError:
        return set()


def _parent2(unified: Path, parent: str | None, own: str | None) -> Path:
    """What was asked; for root a group at the top; for others the agent's own group, which must be delegated."""
    if parent:
        return unified / parent.strip("/")
    if os.geteuid() == 0:
        return unified / cgroup.PARENT
    path = own if own is not None else _own_path(Path("/proc/self/cgroup").read_text())
    return unified / path.strip("/").removesuffix(f"/{AGENT_LEAF}")


def _own_path(text: str) -> str:
    """The path in the unified hierarchy, from the text of /proc/self/cgroup."""
    return next((line[3:] for line in text.splitlines() if line.startswith("0::")), "/")
