"""The server and the runners of the play: started, approved, killed, restarted, and all stopped at the end."""

from __future__ import annotations

import fcntl
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import httpx
from django.conf import settings

from contests.demo.caller import Caller
from contests.demo.processes import Child, Died
from judging import queue
from runners.agent.agent import EXIT_REFUSED
from runners.agent.identity import load_identity

NAMES = ("demo-1", "demo-2")
HOST = "127.0.0.1"
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
READY_SECONDS = 90.0
POLL_SECONDS = 0.1
OPERATOR = "system"
LEASES = {"ASSIZE_LEASE_MIN_SECONDS": "5", "ASSIZE_LEASE_MAX_SECONDS": "10", "ASSIZE_HEARTBEAT_SECONDS": "5"}
"""Shorter than any contest's, so that a lost one is seen to run out. Not where runners of others are to be tried."""

DIRECT = {"NO_PROXY": HOST, "no_proxy": HOST}
"""This machine is not reached through a proxy, whatever the environment says of the world."""

UNSAFE = """
!!! The runners judge WITHOUT ISOLATION (--unsafe): programs run on this machine's files and network.
!!! Good enough for the demo's own programs and for nothing else. To see what isolation still lacks here:
!!!     .venv/bin/python -m runners.agent doctor
"""


class Cast:
    """Keeps what it needs in `folder`; `say` tells the audience something."""

    def __init__(self, *, port: int, folder: Path, say: Callable[[str], None], transport: str = "rest") -> None:
        self.base = f"http://{HOST}:{port}"
        self.folder = folder
        self._port = port
        self._say = say
        self._transport = transport
        self._server: Child | None = None
        self._runners: dict[str, Child] = {}
        self._unsafe = False

    def serve(self, *, short_leases: bool) -> None:
        """Start the server and wait until it answers. Raises Died."""
        argv = [sys.executable, str(settings.BASE_DIR / "manage.py"), "serve", "--port", str(self._port)]
        self._server = Child("The server", argv, log=self.folder / "server.log", env=LEASES if short_leases else {})
        self._until(self._healthy, waits_for=[self._server])

    def _healthy(self) -> bool:
        try:
            return httpx.get(f"{self.base}/api/v1/health", timeout=5, trust_env=False).is_success
        except httpx.HTTPError:
            return False

    def judge(self, operator: Caller) -> None:
        """Start the runners, and approve their keys as an operator would. Raises Died.

        Where bubblewrap is missing, or the box cannot hold here, they judge without one, and that is said.
        """
        if shutil.which("bwrap") is None:
            self._expose("bubblewrap is not installed here. To get it: apt-get install bubblewrap")
        try:
            self._begin(operator)
        except Died:
            refused = [child for child in self._runners.values() if child.exit_code == EXIT_REFUSED]
            if self._unsafe or not refused:
                raise
            self._expose(refused[0].last_words())
            self.dismiss()
            self._begin(operator)

    def _begin(self, operator: Caller) -> None:
        """Start the runners and wait until each has been heard and is approved. Raises Died."""
        for name in NAMES:
            self._until_free(name)
        heard = {fingerprint: row.get("lastSeenAt") for fingerprint, row in operator.runners().items()}
        for name in NAMES:
            self._start(name)
        self._approve(operator, heard)

    def _expose(self, reason: str) -> None:
        self._unsafe = True
        self._say(f"{reason}{UNSAFE}")

    def _start(self, name: str) -> None:
        self._until_free(name)
        agent = [sys.executable, "-m", "runners.agent", "run", "--server", self.base, "--name", name]
        argv = [*agent, "--state", str(self._state(name)), *(["--unsafe"] if self._unsafe else [])]
        if self._transport == "channel":
            argv += ["--transport", "channel", "--channel-key", str(self._channel_key(name))]
        self._runners[name] = Child(f"Runner {name}", argv, log=self.folder / f"{name}.log", env=DIRECT)

    def _until_free(self, name: str) -> None:
        self._until(lambda: is_free(self._state(name) / "lock"), waits_for=[])

    def _state(self, name: str) -> Path:
        return self.folder / name

    def _channel_key(self, name: str) -> Path:
        return self._state(name) / "channel-key"

    def _hand_over_key(self, name: str, runner: UUID) -> None:
        """Give a runner its key for the channel, as an operator would who copies it from the page."""
        place = self._channel_key(name)
        place.touch(mode=0o600)
        place.write_text(queue.replace_channel_key(runner, by=OPERATOR))

    def _approve(self, operator: Caller, heard: Mapping[str, str | None]) -> None:
        """Approve the keys that are in our own runners' files, and nobody else's.

        `heard` has when each was seen before. A key of an earlier demo is known and approved already: only when it is
        seen anew has its runner begun, and has not refused this machine.
        """
        waiting = set(self._runners)

        def approved() -> bool:
            known = operator.runners()
            for name in sorted(waiting):
                key = self._state(name) / "key"
                row = known.get(load_identity(key).fingerprint) if key.exists() else None
                if row is not None and row.get("lastSeenAt") != heard.get(row["fingerprint"]):
                    operator.approve(row["id"])
                    if self._transport == "channel":
                        self._hand_over_key(name, UUID(row["id"]))
                    waiting.discard(name)
            return not waiting

        self._until(approved, waits_for=list(self._runners.values()))

    def pull_the_plug(self, name: str) -> None:
        """SIGKILL a runner, and start one afresh in its place; it knows its key and no more."""
        self._runners[name].kill()
        self._start(name)

    def must_live(self) -> None:
        """Raise Died when any of them ended by itself."""
        for child in [*self._runners.values(), *([self._server] if self._server else [])]:
            child.must_live()

    def dismiss(self) -> None:
        """Stop the runners: what they hold goes back to the queue."""
        for child in self._runners.values():
            child.end()
        for child in self._runners.values():
            child.stop()
        self._runners.clear()

    def end(self) -> None:
        """Stop everything, whatever is under way, and however often Ctrl-C is pressed meanwhile."""
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
        self.dismiss()
        if self._server is not None:
            self._server.stop()

    def _until(self, done: Callable[[], bool], *, waits_for: Sequence[Child]) -> None:
        """Wait until it is done. Raises Died when one of those ends first, or takes too long."""
        until = time.monotonic() + READY_SECONDS
        while not done():
            for child in waits_for:
                child.must_live()
            if time.monotonic() > until:
                said = "\n".join(f"{child.name}: {child.last_words()}" for child in waits_for)
                raise Died(f"Not ready after {READY_SECONDS:.0f} s.\n{said}")
            time.sleep(POLL_SECONDS)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Be the only demo of a folder. Raises Died when there is one."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Died(f"Another demo runs in {folder.parent}. End that one, or choose another folder with --data.") from None
        yield


def is_free(lock: Path) -> bool:
    """Whether nobody holds a lock file: runners of a demo that was killed take a moment to end."""
    if not lock.exists():
        return True
    with lock.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def free_port(asked: int | None, *, usual: int) -> int:
    """The port asked for; else the usual one, or the next that is free. Raises Died when the one asked for is not."""
    if asked is not None:
        if asked not in range(1, 65536):
            raise Died(f"There is no port {asked}: they are 1 to 65535.")
        if not _is_free(asked):
            raise Died(f"Port {asked} is in use. Choose another with --port.")
        return asked
    return next(port for port in range(usual, usual + 1000) if _is_free(port))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
