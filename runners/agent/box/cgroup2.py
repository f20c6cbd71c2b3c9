"""cgroup v2: one directory for all controllers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from runners.agent.box import cgroup

AGENT_LEAF = "agent"
"""Where the agent itself moves: a group with children may hold no processes."""


@dataclass(frozen=True, slots=True)
class Group2:
    folder: Path

    def add(self, pid: int) -> None:
        (self.folder / "cgroup.procs").write_text(str(pid))

    def pids(self) -> list[int]:
        return cgroup.read_pids(self.folder / "cgroup.procs")

    def cpu_ns(self) -> int:
        return cgroup.read_table(self.folder / "cpu.stat")["usage_usec"] * 1000

    def oom_kills(self) -> int:
        return cgroup.read_table(self.folder / "memory.events").get("oom_kill", 0)

    def peak_bytes(self) -> int | None:
        """None before Linux 5.19."""
        return cgroup.read_number(self.folder / "memory.peak")

    def kill(self) -> None:
        switch = self.folder / "cgroup.kill"
        if switch.exists():
            switch.write_text("1")
        else:
            cgroup.signal_all(self.pids())

    def remove(self) -> None:
        cgroup.remove_folders(self, [self.folder])


@dataclass(frozen=True, slots=True)
class Hierarchy2:
    """The group below which ours are made."""

    parent: Path
    version: int = 2

    def prepare(self) -> None:
        try:
            self.parent.mkdir(exist_ok=True)
            self._leave_for_leaf()
            for above in (self.parent.parent, self.parent):
                self._enable(above)
        except OSError as error:
            raise cgroup.unavailable(f"no control groups can be made: {error}") from error
        lacking = set(cgroup.NEEDED) - set((self.parent / "cgroup.subtree_control").read_text().split())
        if lacking:
            raise cgroup.unavailable(f"{self.parent} is not given the controllers {', '.join(sorted(lacking))}")

    def _leave_for_leaf(self) -> None:
        """When the parent is the agent's own delegated group, step aside into a leaf of it."""
        if os.getpid() in cgroup.read_pids(self.parent / "cgroup.procs"):
            leaf = self.parent / AGENT_LEAF
            leaf.mkdir(exist_ok=True)
            for pid in cgroup.read_pids(self.parent / "cgroup.procs"):
                (leaf / "cgroup.procs").write_text(str(pid))

    def _enable(self, folder: Path) -> None:
        """Hand the controllers down. Above the parent this may be another's to do, and done already.

        In a container the parent may be the top of all that can be seen: then there is nothing above.
        """
        control = folder / "cgroup.subtree_control"
        if folder != self.parent and not control.exists():
            return
        wanted = set(cgroup.NEEDED) - set(control.read_text().split())
        if wanted and (folder == self.parent or os.access(control, os.W_OK)):
            control.write_text(" ".join(f"+{name}" for name in sorted(wanted)))

    def create(self, name: str, *, memory_bytes: int, processes: int) -> Group2:
        group = Group2(self.parent / name)
        group.folder.mkdir()
        (group.folder / "memory.max").write_text(str(memory_bytes))
        (group.folder / "memory.oom.group").write_text("1")
        # Absent when the kernel keeps no account of swap.
        if (group.folder / "memory.swap.max").exists():
            (group.folder / "memory.swap.max").write_text("0")
        (group.folder / "pids.max").write_text(str(processes))
        return group

    def leftovers(self, prefix: str) -> list[cgroup.Group]:
        return [Group2(path) for path in sorted(self.parent.glob(f"{prefix}*")) if path.is_dir()]
