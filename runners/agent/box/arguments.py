"""What a program sees and may do, as bubblewrap's command line."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from runners.agent.box import seccomp
from runners.agent.box.descriptors import Descriptors
from runners.agent.box.run import HOME, SLACK_BYTES, Command

NAMESPACES = ("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup")
HARDENING = ("--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL")
ROOT_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
FROM_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives")
"""What compilers and run times need of /etc. No passwd, no hosts, nothing of the site."""


@functools.cache
def system_view() -> tuple[str, ...]:
    """The read-only system a program sees."""
    view = ["--ro-bind", "/usr", "/usr"]
    for name in ROOT_LINKS:
        path = Path("/", name)
        if path.is_symlink():
            view += ["--symlink", str(path.readlink()), f"/{name}"]
        elif path.is_dir():
            view += ["--ro-bind", f"/{name}", f"/{name}"]
    for path in (*(Path("/etc", name) for name in FROM_ETC), *sorted(Path("/etc").glob("java*"))):
        if path.exists():
            view += ["--ro-bind", str(path), str(path)]
    return tuple(view)


def arguments(command: Command, passed: Descriptors, *, host_name: str) -> list[str]:
    """Everything up to the command itself; `passed` collects the descriptors it names.

    The order is bwrap's order of doing: the root is closed only after the last thing was put into it.
    """
    size = str(command.limits.output_bytes + SLACK_BYTES + sum(blob.size for blob in command.copies.values()))
    argv = [*NAMESPACES, *HARDENING, "--hostname", host_name, *system_view()]
    argv += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev", "--size", size, "--tmpfs", HOME, "--symlink", HOME, "/tmp"]
    for name, blob in command.files.items():
        argv += ["--perms", "0555", "--ro-bind-data", str(passed.add(blob.reopened())), f"{HOME}/{name}"]
    for name in command.folders:
        argv += ["--dir", f"{HOME}/{name}"]
    for name, blob in command.copies.items():
        argv += ["--perms", "0755", "--file", str(passed.add(blob.reopened())), f"{HOME}/{name}"]
    for name, blob in command.data.items():
        argv += ["--symlink", f"/proc/self/fd/{passed.add(blob.reopened())}", f"{HOME}/{name}"]
    for name, value in command.environ.items():
        argv += ["--setenv", name, value]
    return [*argv, "--remount-ro", "/", "--chdir", HOME, "--seccomp", str(passed.add(_filter()))]


def _filter() -> int:
    """The seccomp program on a descriptor of its own: bwrap reads it from where the offset stands."""
    fd = os.memfd_create("seccomp", os.MFD_CLOEXEC)
    os.write(fd, seccomp.program())
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
