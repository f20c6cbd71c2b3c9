"""cgroup v1: one directory a controller."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runners.agent.box import cgroup

CONTROLLERS = ("memory", "pids", "cpuacct")


@dataclass(frozen=True, slots=True)
class Group1:
    """The same name under every controller."""

    folders: Mapping[str, Path]

    def add(self, pid: int) -> None:
        for folder in self.folders.values():
            (folder / "cgroup.procs").write_text(str(pid))

    def pids(self) -> list[int]:
        return sorted({pid for folder in self.folders.values() for pid in cgroup.read_pids(folder / "cgroup.procs")})

    def cpu_ns(self) -> int:
        return int((self.folders["cpuacct"] / "cpuacct.usage").read_text())

    def oom_kills(self) -> int:
        return cgroup.read_table(self.folders["memory"] / "memory.oom_control").get("oom_kill", 0)

    def peak_bytes(self) -> int | None:
        return cgroup.read_number(self.folders["memory"] / "memory.max_usage_in_bytes")

    def kill(self) -> None:
        cgroup.signal_all(self.pids())

    def remove(self) -> None:
        cgroup.remove_folders(self, self.folders.values())


@dataclass(frozen=True, slots=True)
class Hierarchy1:
    """The v1 mounts, and the name of the group below each in which ours are made."""

    mounts: Mapping[str, Path]
    parent: str = cgroup.PARENT
    version: int = 1

    def parents(self) -> dict[str, Path]:
        return {name: self.mounts[name] / self.parent for name in CONTROLLERS}

    def prepare(self) -> None:
        missing = [name for name in CONTROLLERS if name not in self.mounts]
        if missing:
            raise cgroup.unavailable(f"cgroup v1 is mounted without {', '.join(missing)}")
        try:
            for folder in self.parents().values():
                folder.mkdir(exist_ok=True)
        except OSError as error:
            raise cgroup.unavailable(f"no control groups can be made: {error}") from error
        for folder in self.parents().values():
            if not os.access(folder, os.W_OK):
                raise cgroup.unavailable(f"no control groups can be made: {folder} is not this user's")

    def create(self, name: str, *, memory_bytes: int, processes: int) -> Group1:
        group = Group1({controller: folder / name for controller, folder in self.parents().items()})
        for folder in group.folders.values():
            folder.mkdir()
        memory = group.folders["memory"]
        (memory / "memory.limit_in_bytes").write_text(str(memory_bytes))
        # Memory and swap together bounded by the same number is memory without swap. Absent when the kernel keeps no account of swap.
        if (memory / "memory.memsw.limit_in_bytes").exists():
            (memory / "memory.memsw.limit_in_bytes").write_text(str(memory_bytes))
        (group.folders["pids"] / "pids.max").write_text(str(processes))
        return group

    def leftovers(self, prefix: str) -> list[cgroup.Group]:
        names = {path.name for folder in self.parents().values() for path in folder.glob(f"{prefix}*") if path.is_dir()}
        return [Group1({controller: folder / name for controller, folder in self.parents().items()}) for name in sorted(names)]
