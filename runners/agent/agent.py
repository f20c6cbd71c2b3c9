"""The whole agent: its state on disk, its workers, and how it stops."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import platform
import signal
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from runners.agent import PRODUCT, VERSION
from runners.agent.answers import Revoked
from runners.agent.api import Api, Profile
from runners.agent.box import UNPRIVILEGED_UID, BoxSettings, open_box
from runners.agent.box.run import Box
from runners.agent.cache import CAPACITY, Cache
from runners.agent.channel import ChannelApi
from runners.agent.enrolment import Enrolment
from runners.agent.errors import AgentError, Interrupted, Unavailable
from runners.agent.http import Http
from runners.agent.identity import Identity, load_identity
from runners.agent.journal import Bars
from runners.agent.judgement import Progress
from runners.agent.languages import Toolchains, find_toolchains
from runners.agent.loop import Habits, Phase, Worker
from runners.agent.outbox import Outbox
from runners.agent.spool import Spool
from runners.agent.work import PROBLEM_TYPES, Workshop

log = logging.getLogger(__name__)
HEARTBEAT_S = 30.0
CLAIM_LANDS_S, JOB_STOPS_S = 2.0, 10.0
EXIT_FINE, EXIT_FAILED, EXIT_REFUSED, EXIT_REVOKED = 0, 1, 2, 3
BANNER = """
  !!!  --unsafe: submissions run WITHOUT isolation, as this user, on this machine's files and network.
  !!!  For a demonstration with trusted programs only. Every result says `isolated: false`.
"""


@dataclass(frozen=True, slots=True)
class Settings:
    """What an operator decides about the agent."""

    server: str
    state: Path
    name: str
    tags: tuple[str, ...] = ()
    workers: int = 1
    channel_key: Path | None = None
    """The file with the operator's key for the channel; without one the agent polls over REST."""
    unsafe: bool = False
    uid: int = UNPRIVILEGED_UID
    cgroup: str | None = None
    cache: Path | None = None
    cache_bytes: int = CAPACITY
    habits: Habits = field(default_factory=Habits)

    def box(self) -> BoxSettings:
        key = f"a{hashlib.sha256(str(self.state.resolve()).encode()).hexdigest()[:10]}"
        return BoxSettings(self.state / "scratch", key, unsafe=self.unsafe, uid=self.uid, cgroup=self.cgroup)


class Agent:
    """Runs workers until told to stop, revoked, or refused."""

    def __init__(self, settings: Settings, identity: Identity, box: Box) -> None:
        toolchains = find_toolchains()
        self._settings = settings
        self._stop = threading.Event()
        self._code = EXIT_FINE
        self._api = _api(settings, identity)
        profile = _profile(settings, toolchains, isolated=box.isolated)
        self._enrolment = Enrolment(self._api, profile, fingerprint=identity.fingerprint, sleep=lambda delay: not self._stop.wait(delay))
        cache = Cache(settings.cache or settings.state / "cache", settings.cache_bytes).open()
        outbox = Outbox(Spool(settings.state / "spool").open(), self._api)
        self._workers = [
            Worker(
                api=self._api,
                workshop=Workshop(box, toolchains, cache),
                outbox=outbox,
                enrolment=self._enrolment,
                habits=settings.habits,
                stop=self._stop,
            )
            for _ in range(settings.workers)
        ]

    def run(self) -> int:
        """Until the end; answers the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        with Bars() as bars:
            # Daemons: one that hangs in a call must not keep a stopping agent alive.
            threads = [
                threading.Thread(target=self._guard, args=(worker, bars.row(number)), name=f"worker-{number}", daemon=True)
                for number, worker in enumerate(self._workers, start=1)
            ]
            for thread in (*threads, threading.Thread(target=self._beat, name="heartbeat", daemon=True)):
                thread.start()
            self._stop.wait()
            self._let_end(threads)
        return self._code

    def _guard(self, worker: Worker, progress: Progress) -> None:
        """A worker's whole life. Whatever ends it ends the agent."""
        try:
            worker.work(progress)
        except Interrupted:
            pass
        except Revoked as error:
            log.error("this runner's key has been revoked: %s. It will never be accepted again; a new key makes a new runner.", error)
            self._code = EXIT_REVOKED
        except Unavailable as error:
            log.error("%s. Remedy: %s", error.reason, error.remedy)
            self._code = EXIT_REFUSED
        except Exception:
            log.exception("a worker failed")
            self._code = EXIT_FAILED
        self._stop.set()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._stop.is_set():
            os._exit(128 + number)
        log.info("stopping")
        self._stop.set()

    def _let_end(self, threads: list[threading.Thread]) -> None:
        """A claim in flight has a moment to land, so that its job can be given back; a run is stopped and its job given back."""
        stopped = time.monotonic()
        while any(thread.is_alive() for thread in threads) and time.monotonic() - stopped < JOB_STOPS_S:
            claiming = all(worker.phase is Phase.CLAIMING for worker in self._workers)
            if claiming and time.monotonic() - stopped > CLAIM_LANDS_S:
                return
            time.sleep(0.05)

    def _beat(self) -> None:
        """Be seen while a long run leaves nothing else to say."""
        while not self._stop.wait(HEARTBEAT_S):
            with contextlib.suppress(AgentError):
                if self._enrolment.times:
                    self._api.heartbeat()


def _api(settings: Settings, identity: Identity) -> Api:
    http = Http(settings.server)
    if settings.channel_key is None:
        return Api(http, identity)
    return ChannelApi(http, identity, server=settings.server, key=settings.channel_key)


def run(settings: Settings) -> int:
    """Open the state and the box, then work. Raises Unavailable: then nothing has been claimed."""
    settings.state.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _only_agent_of(settings.state):
        identity = load_identity(settings.state / "key")
        box = open_box(settings.box())
        if not box.isolated:
            log.warning(BANNER)
        return Agent(settings, identity, box).run()


@contextlib.contextmanager
def _only_agent_of(state: Path) -> Iterator[None]:
    """Two agents with one key would renew and sweep each other's work."""
    fd = os.open(state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise Unavailable(f"another agent uses {state}", "give each agent a --state of its own") from error
    finally:
        os.close(fd)


def _profile(settings: Settings, toolchains: Toolchains, *, isolated: bool) -> Profile:
    machine = {
        "host": socket.gethostname(),
        "os": f"{platform.system()} {platform.release()}",
        "arch": platform.machine(),
        "cores": os.cpu_count() or 1,
        "memoryBytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "languages": sorted(toolchains.languages),
        "isolated": isolated,
    }
    return Profile(settings.name, PRODUCT, VERSION, PROBLEM_TYPES, settings.tags, machine)
