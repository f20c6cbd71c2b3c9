"""Other queues on PostgreSQL, measured where their packages are installed: a job taken and finished, in process.

Each in a process of its own, with one worker that does nothing in its jobs: `python -m judging.bench.peers NAME ADDRESS
COUNT ROUNDS` prints the seconds a job took, once a round.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module

NOT_MEASURED = "not installed, so not measured"
_SECONDS = 300

Measure = Callable[[str, int, int], list[float]]


async def _nothing(*_: object) -> None:
    """The job."""


def procrastinate(address: str, count: int, rounds: int) -> list[float]:
    """One worker of Procrastinate, one job at a time, out of a queue of so many."""
    package = import_module("procrastinate")
    app = package.App(connector=package.PsycopgConnector(conninfo=address))
    task = app.task(_nothing, name="nothing")

    async def work() -> float:
        for _ in range(count):
            await task.defer_async()
        began = time.perf_counter()
        await app.run_worker_async(wait=False, listen_notify=False, install_signal_handlers=False, concurrency=1)
        return (time.perf_counter() - began) / count

    async def together() -> list[float]:
        async with app.open_async():
            await app.schema_manager.apply_schema_async()
            return [await work() for _ in range(rounds)]

    return asyncio.run(together())


def django_tasks_db(address: str, count: int, rounds: int) -> list[float]:
    """One worker of django-tasks' database backend, until its queue is empty."""
    conf, django = import_module("django.conf"), import_module("django")
    given = import_module("psycopg.conninfo").conninfo_to_dict(address)
    conf.settings.configure(
        DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": given.pop("dbname"), "OPTIONS": given}},
        INSTALLED_APPS=["django_tasks", "django_tasks_db"],
        TASKS={"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}},
        USE_TZ=True,
    )
    django.setup()
    call_command = import_module("django.core.management").call_command
    call_command("migrate", verbosity=0, interactive=False)
    # Its name must lead to the task, not to the function.
    task = globals()["lazily"] = import_module("django_tasks").task(lazily)

    def work() -> float:
        for _ in range(count):
            task.enqueue()
        began = time.perf_counter()
        call_command("db_worker", batch=True, interval=0, startup_delay=False, verbosity=0)
        return (time.perf_counter() - began) / count

    return [work() for _ in range(rounds)]


def lazily() -> None:
    """The job, where a name must lead to it."""


PEERS: dict[str, tuple[Measure, float]] = {
    "procrastinate": (procrastinate, 2.5),
    "django_tasks_db": (django_tasks_db, 3.5),
}
"""Each peer's measurement, by the name of its package, and how many times as fast ours is to be."""


def installed(package: str) -> bool:
    """Whether the peer can be measured here."""
    return importlib.util.find_spec(package) is not None


def measured(name: str, address: str, count: int, rounds: int) -> list[float]:
    """Seconds a job of this peer, once a round. Raises CalledProcessError, TimeoutExpired."""
    command = [sys.executable, "-m", __name__, name, address, str(count), str(rounds)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=_SECONDS)
    seconds: list[float] = json.loads(done.stdout.splitlines()[-1])
    return seconds


if __name__ == "__main__":
    _peer, _where, _count, _rounds = sys.argv[1:]
    print(json.dumps(PEERS[_peer][0](_where, int(_count), int(_rounds))))  # noqa: T201 - for the process that asked
