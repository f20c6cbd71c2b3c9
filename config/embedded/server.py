"""Starting and stopping the server itself. The caller holds the home's lock."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from config.embedded.account import ENVIRONMENT, Impossible
from config.embedded.binaries import Binaries, find
from config.embedded.place import NAME, PORT, Place

START_SECONDS = 120.0  # a recovery after a crash is part of the start
STOP_SECONDS = 30.0
POLL_SECONDS = 0.02
RETRY_SECONDS = (0.5, 2.0, 5.0)

SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "autovacuum_naptime": "5s",
    "idle_in_transaction_session_timeout": "30s",
    "jit": "off",
}
# A test's database may be lost with the machine; nothing else may.
CARELESS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "wal_level": "minimal", "max_wal_senders": "0"}

_children: list[subprocess.Popen[bytes]] = []


def start(place: Place, *, durable: bool) -> None:
    """Bring the server up, unless it is; make its cluster first when there is none. Raises Impossible."""
    if accepts(place):
        return
    binaries = find(place.account)
    cluster = place.folder / f"pg{binaries.major}"
    if not cluster.is_dir():
        _make_cluster(place, binaries, cluster, durable=durable)
    for pause in RETRY_SECONDS:
        if not _postmaster(place):
            _clear_remains(place, cluster)
            _launch(place, binaries, cluster, SETTINGS if durable else SETTINGS | CARELESS)
        if _comes_up(place, cluster):
            return
        # The orphans of a killed server still hold its shared memory; they end by themselves.
        time.sleep(pause)
    tail = (place.folder / "log").read_text(errors="replace").splitlines()[-12:]
    raise Impossible("The embedded PostgreSQL did not start. Its last words:\n" + "\n".join(tail))


def stop(place: Place) -> None:
    """End the server and wait until it is gone: politely at first, at once after `STOP_SECONDS`."""
    for word in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        pid = _postmaster(place)
        if pid is None:
            break
        os.kill(pid, word)
        _wait(lambda: _postmaster(place) is None, STOP_SECONDS)
    for child in _children:
        child.poll()


def accepts(place: Place) -> bool:
    """Whether somebody listens on the socket. Holds across containers too, where process ids mean nothing."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(place.socket))
        except OSError:
            return False
    return True


def _make_cluster(place: Place, binaries: Binaries, cluster: Path, *, durable: bool) -> None:
    """Run initdb beside the final name, so that a killed start leaves no half-made cluster under it."""
    draft = cluster.with_suffix(".new")
    shutil.rmtree(draft, ignore_errors=True)
    initdb: list[str | Path] = [binaries.folder / "initdb", "-D", draft, "-U", NAME, "-E", "UTF8", "--locale=C"]
    access = ["--auth-local=trust", "--auth-host=reject"]  # the folder's mode is the door
    made = place.account.run([*initdb, *access, "--no-instructions", *([] if durable else ["--no-sync"])])
    if made.returncode == 0:
        single: list[str | Path] = [binaries.folder / "postgres", "--single", "-D", draft, "postgres"]
        made = place.account.run(single, feed=f"CREATE DATABASE {NAME};\n")
    if made.returncode != 0:
        raise Impossible(f"PostgreSQL could not make its files in {draft}:\n{made.stdout}")
    draft.rename(cluster)


def _clear_remains(place: Place, cluster: Path) -> None:
    """Remove the pid files of a killed server whose number another program has by now: PostgreSQL would believe them.

    Those with a dead number stay: by them PostgreSQL finds orphans that still hold its shared memory.
    """
    for file in (cluster / "postmaster.pid", place.socket.with_name(f"{place.socket.name}.lock")):
        pid = _pid_in(file)
        if pid is not None and Path(f"/proc/{pid}").exists():
            file.unlink()


def _launch(place: Place, binaries: Binaries, cluster: Path, settings: dict[str, str]) -> None:
    """Start the server in a session of its own: Ctrl-C in a terminal must reach its users first."""
    folders = str(place.socket_folder).replace('"', '""')
    options = [f"--{name}={value}" for name, value in settings.items()]
    log = place.folder / "log"
    if log.exists():
        log.replace(log.with_name("log.old"))
    with log.open("wb") as output:
        child = subprocess.Popen(
            [binaries.folder / "postgres", "-D", cluster, f'--unix_socket_directories="{folders}"', *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env=ENVIRONMENT,
            start_new_session=True,
            **place.account.switch,
        )
    _children.append(child)


def _comes_up(place: Place, cluster: Path) -> bool:
    """Wait for a server that was started to be ready; False when it ended instead or takes too long."""

    def decided() -> bool:
        return _state(cluster) == "ready" or not (_postmaster(place) or _beginning())

    return _wait(decided, START_SECONDS) and accepts(place)


def _beginning() -> bool:
    """Whether the server we started lives, though it may not have written its pid file yet."""
    return bool(_children) and _children[-1].poll() is None


def _state(cluster: Path) -> str:
    """What the server says of itself on the last line of its pid file: starting, ready, stopping; else nothing."""
    try:
        lines = (cluster / "postmaster.pid").read_text().splitlines()
    except OSError:
        return ""
    return lines[7].strip() if len(lines) > 7 else ""


def _postmaster(place: Place) -> int | None:
    """The process id of this place's living server. A number reused by another program does not count."""
    for file in place.folder.glob("pg*/postmaster.pid"):
        pid = _pid_in(file)
        if pid is not None and os.fsencode(file.parent) in _words(pid):
            return pid
    return None


def _pid_in(file: Path) -> int | None:
    try:
        return int(file.read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return None


def _words(pid: int) -> list[bytes]:
    """The command line of a process; empty when there is none."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _wait(done: Callable[[], bool], seconds: float) -> bool:
    """Look until `done` or the time is up; returns whether it is done."""
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            return False
        time.sleep(POLL_SECONDS)
    return True
