"""The second part of the contract over the store that Assize ships: the channel's verbs of `judging.queue`."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import connections

from judging import queue
from judging.channel import frames, outputs
from judging.models import Job as JobRow
from judging.models import Outcome
from tests.contract.channel import ChannelClient, Heard, Run, Silence
from tests.contract.interface import Handout, Refused
from tests.contract.postgres import PostgresClient, PostgresStore, handed, refusals

_HEARD: dict[queue.Answer, Heard] = {queue.Answer.ACK: "ack", queue.Answer.CANCEL: "cancel"}
_SILENCE: dict[queue.Silence, Silence] = {
    queue.Silence.HEARTBEAT_TIMEOUT: "heartbeat_timeout",
    queue.Silence.JOB_TIMEOUT_EXCEEDED: "job_timeout_exceeded",
}


class PostgresChannelClient(PostgresClient):
    """All verbs; what runs leave behind is one iteration each, for the json adapter."""

    def claim_on_channel(self, runner) -> Handout | None:
        with refusals():
            return handed(queue.claim_on_channel(runner))

    def start(self, job, token) -> Heard:
        return _HEARD[queue.start(job, token=token)]

    def beat(self, job, token) -> Heard:
        return _HEARD[queue.beat(job, token=token)]

    def take_up(self, job, token) -> Heard:
        return _HEARD[queue.take_up(job, token=token)]

    def lose(self, job, token) -> Silence:
        return _SILENCE[queue.lose(job, token=token)]

    def finish(self, job, runner, token, *, verdict="Accepted", in_course=False) -> UUID | None:
        said = "done" if verdict is None else json.dumps({"verdict": verdict})
        with refusals():
            output = frames.document([frames.Iteration(0, said)])
            return queue.finish(job, runner=runner, token=token, output=output, in_course=in_course)

    def fail(self, job, runner, token, *, error) -> None:
        queue.fail(job, runner=runner, token=token, output=frames.document([], error), error=error)

    def abandon(self, job, runner, token) -> None:
        queue.abandon(job, runner=runner, token=token)

    def process(self, outcome) -> bool:
        return queue.process(outcome)

    def run(self, job) -> Run:
        row = JobRow.objects.filter(id=job).first()
        if row is None:
            raise Refused("not_found")
        return run_of(row, kept_of(job))


class PostgresChannelStore(PostgresStore):
    """The store, with clients that have the channel's verbs too."""

    @contextmanager
    def client(self) -> Iterator[ChannelClient]:
        try:
            yield PostgresChannelClient(self)
        finally:
            if threading.current_thread() is not threading.main_thread():
                connections.close_all()


def run_of(row: JobRow, kept: str) -> Run:
    """A stored job in the channel's words."""
    return Run(row.channel, row.started_at is not None, row.outcome, row.lost, kept)


def kept_of(job: UUID) -> str:
    """What a job's run left: the error in its output document, else the verdict in its last iteration."""
    problem = Outcome.objects.filter(job=job).values_list("problem", flat=True).first()
    document = None if problem is None else outputs.read(problem, job)
    if document is None:
        return ""
    said = json.loads(document)
    if "error" in said:
        return str(said["error"])
    text = said["results"][-1]["stdout"]
    return str(json.loads(text)["verdict"]) if text.startswith("{") else ""
