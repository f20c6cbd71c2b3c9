"""Other queues on PostgreSQL, measured where their packages are installed: a job taken and finished, in process."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from collections.abc import Callable
from importlib import import_module

NOT_MEASURED = "not installed, so not measured"


def procrastinate(address: str, count: int, rounds: int) -> list[float]:
    """Seconds a job that does nothing takes its worker, one at a time, out of a queue of so many; once a round."""
    package = import_module("procrastinate")
    app = package.App(connector=package.PsycopgConnector(conninfo=address))

    async def nothing() -> None:
        """The job."""

    task = app.task(nothing, name="nothing")

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


PEERS: dict[str, tuple[Callable[[str, int, int], list[float]], float]] = {"procrastinate": (procrastinate, 2.5)}
"""Each peer's measurement, by the name of its package, and how many of its jobs ours should be at least as fast as."""


def installed(package: str) -> bool:
    """Whether the peer can be measured here."""
    return importlib.util.find_spec(package) is not None
