"""The command line: `run`, `doctor`, `verify`."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from runners.agent import agent, doctor, verify
from runners.agent.box import UNPRIVILEGED_UID, BoxSettings
from runners.agent.cache import CAPACITY
from runners.agent.errors import Unavailable
from runners.agent.job import MAX_LEASE_S, MIN_LEASE_S
from runners.agent.journal import set_up_logging
from runners.agent.loop import Habits


def main(arguments: Sequence[str]) -> int:
    """Run one command; answers its exit code: 2 is a refusal, with a line of reason and one of remedy."""
    asked = parser().parse_args(arguments)
    set_up_logging()
    try:
        return int(asked.command(asked))
    except Unavailable as error:
        sys.stderr.write(f"assize-agent: {error.reason}\nRemedy: {error.remedy}\n")
        return agent.EXIT_REFUSED


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m runners.agent", description="The reference runner of Assize.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="claim jobs from a server and judge them")
    run.set_defaults(command=_run)
    run.add_argument("--server", required=True, metavar="URL")
    run.add_argument("--state", required=True, type=Path, metavar="DIR", help="this runner's key, spool and cache; one agent each")
    run.add_argument("--name", default=socket.gethostname()[:128])
    run.add_argument("--tags", default="", metavar="A,B", help="pools, read by the server at the first registration only")
    run.add_argument("--workers", type=int, default=1, metavar="N", help="jobs at a time, at most one less than there are cores")
    run.add_argument("--transport", choices=("rest", "channel"), default="rest")
    run.add_argument("--channel-key", type=Path, metavar="FILE", help="where --transport channel finds the key an operator made")
    run.add_argument("--lease-seconds", type=int, default=600, metavar="N", help=f"{MIN_LEASE_S} to {MAX_LEASE_S}")
    run.add_argument("--wait-seconds", type=int, default=25, metavar="N", help="how long a claim waits for work")
    run.add_argument("--cache", type=Path, metavar="DIR", help="may be shared by agents of one user")
    run.add_argument("--cache-bytes", type=int, default=CAPACITY, metavar="N")
    look = commands.add_parser("doctor", help="say what this machine can judge, and what to mend")
    look.set_defaults(command=_doctor)
    judge = commands.add_parser("verify", help="judge a package's own submissions and compare with what their folders promise")
    judge.set_defaults(command=_verify)
    judge.add_argument("package", type=Path, metavar="PACKAGE", help="a folder or a zip")
    for command in (run, look, judge):
        command.add_argument("--unsafe", action="store_true", help="no isolation: for a demonstration with trusted programs only")
        command.add_argument("--uid", type=int, default=UNPRIVILEGED_UID, metavar="N", help="whom an agent of root becomes to run programs")
        command.add_argument("--cgroup", metavar="NAME", help="the control group to work below")
    return top


def _run(asked: argparse.Namespace) -> int:
    most = max((os.cpu_count() or 1) - 1, 1)
    if not 1 <= asked.workers <= most:
        raise Unavailable(f"--workers {asked.workers} on {os.cpu_count()} cores: runs would disturb each other's times", f"1 to {most}")
    if not asked.server.startswith(("http://", "https://")):
        raise Unavailable(f"--server {asked.server!r} is no URL", "write it like https://judge.example.org")
    settings = agent.Settings(
        server=asked.server,
        state=asked.state,
        name=asked.name,
        tags=tuple(tag.strip() for tag in asked.tags.split(",") if tag.strip()),
        workers=asked.workers,
        channel_key=_channel_key(asked),
        unsafe=asked.unsafe,
        uid=asked.uid,
        cgroup=asked.cgroup,
        cache=asked.cache,
        cache_bytes=asked.cache_bytes,
        habits=Habits(lease_s=min(max(asked.lease_seconds, MIN_LEASE_S), MAX_LEASE_S), wait_s=max(asked.wait_seconds, 0)),
    )
    return agent.run(settings)


def _channel_key(asked: argparse.Namespace) -> Path | None:
    """The key's file; None over REST. Raises Unavailable."""
    if asked.transport == "rest":
        return None
    if asked.workers != 1:
        raise Unavailable("--transport channel holds one connection, and so one job", "start one agent for each worker")
    if asked.channel_key is None:
        raise Unavailable("--transport channel needs --channel-key", "ask an operator for a key and save it in a file")
    return Path(asked.channel_key)


def _doctor(asked: argparse.Namespace) -> int:
    with doctor.scratch() as folder:
        return doctor.examine(_box_settings(asked, folder), sys.stdout)


def _verify(asked: argparse.Namespace) -> int:
    with doctor.scratch() as folder:
        return verify.verify(asked.package, _box_settings(asked, folder), sys.stdout)


def _box_settings(asked: argparse.Namespace, scratch: Path) -> BoxSettings:
    return BoxSettings(scratch / "scratch", f"v{os.getpid()}", unsafe=asked.unsafe, uid=asked.uid, cgroup=asked.cgroup)
