"""A job's deliveries and its story, with the names of who acted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db.models import Prefetch

from judging.diagnosis import LEASE_RAN_OUT, Failure, diagnose
from judging.marks import span
from judging.models import Attachment, Delivery, Job, LedgerRecord
from judging.states import Cause, RecordType
from judging.story import Line, Told, tell
from runners.models import Runner

MOST_RECORDS = 500
ENDINGS = {
    RecordType.RELEASED,
    RecordType.EXPIRED,
    RecordType.REQUEUED,
    RecordType.REPORTED,
    RecordType.FAILED,
    RecordType.CANCELLED,
    RecordType.DELETE_MARKED,
}


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did something: a name, and the runner's row where it is one that still exists."""

    name: str
    runner: Runner | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the story with its actor's name."""

    line: Line
    actor: Actor


@dataclass(frozen=True, slots=True)
class Held:
    """One delivery: how long it was held in words, and the line that ended it, None while it goes on."""

    delivery: Delivery
    length: str
    ended_by: Line | None


@dataclass(frozen=True, slots=True)
class History:
    """All hand-outs of a job, and everything that happened to it; `cut` when the page holds only the beginning.

    `failures` are the hand-outs that came to nothing, `diagnosis` what they say together, in words.
    """

    deliveries: list[Held]
    entries: list[Entry]
    cut: bool
    failures: list[Failure]
    diagnosis: str


def history_of(job: Job, *, now: datetime) -> History:
    """What happened to a job, from the ledger and its deliveries, as far as a page can hold it."""
    records = told(LedgerRecord.objects.filter(job=job.id).order_by("n")[: MOST_RECORDS + 1])
    lines = tell(records[:MOST_RECORDS])
    endings = {str(record.data.get("token")): line for record, line in zip(records, lines, strict=False) if record.type in ENDINGS}
    names = actors({line.actor for line in lines})
    held = [
        Held(delivery, span(delivery.claimed_at, delivery.ended_at or now), endings.get(str(delivery.token)))
        for delivery in _deliveries(job)
    ]
    failures = _failures(records[:MOST_RECORDS], [each.delivery for each in held])
    return History(held, [Entry(line, names[line.actor]) for line in lines], len(records) > MOST_RECORDS, failures, diagnose(failures))


def _failures(records: Iterable[Told], deliveries: list[Delivery]) -> list[Failure]:
    by_token = {str(delivery.token): delivery for delivery in deliveries}
    found = ((by_token.get(str(record.data.get("token"))), _reason_of(record)) for record in records)
    return [
        Failure(str(each.runner_id), each.runner.name if each.runner else f"runner {str(each.runner_id)[-12:]}", reason)
        for each, reason in found
        if each and reason
    ]


def _reason_of(record: Told) -> str:
    """Why a hand-out brought no verdict, where that tells of the job or the machine; empty for what operators decided."""
    reason = str(record.data.get("reason") or "no reason given")
    match record.type, record.data.get("cause"):
        case (RecordType.EXPIRED, _) | (RecordType.REQUEUED, Cause.SILENT):
            return LEASE_RAN_OUT
        case (RecordType.REQUEUED, Cause.INFRASTRUCTURE) | (RecordType.FAILED, _):
            return reason
        case (RecordType.REPORTED, _):
            return "" if record.data.get("judged") else reason
        case _:
            return ""


def _deliveries(job: Job) -> list[Delivery]:
    attachments = Prefetch("attachments", Attachment.objects.select_related("file"))
    return list(job.delivery_set.select_related("runner").prefetch_related(attachments).order_by("fence"))


def told(records: Iterable[LedgerRecord]) -> list[Told]:
    """Stored records as the story takes them."""
    return [Told(row.n, row.at, row.type, row.job, row.actor, row.data) for row in records]


def actors(words: Iterable[str]) -> dict[str, Actor]:
    """The actors by how the ledger calls them; two queries for any number."""
    known = [(word, *word.partition(":")[::2]) for word in set(words)]
    runners = Runner.objects.in_bulk([UUID(id_) for _, kind, id_ in known if kind == "runner" and is_uuid(id_)])
    users = get_user_model()._default_manager.in_bulk([id_ for _, kind, id_ in known if kind == "user" and id_.isdecimal()])
    return {word: _actor(word, kind, id_, runners, users) for word, kind, id_ in known}


def _actor(word: str, kind: str, id_: str, runners: dict[Any, Runner], users: dict[Any, Any]) -> Actor:
    if kind == "runner" and is_uuid(id_):
        runner = runners.get(UUID(id_))
        return Actor(runner.name if runner else f"runner {id_[-12:]} (forgotten)", runner)
    if kind == "user" and id_.isdecimal():
        return Actor(users[int(id_)].get_username() if int(id_) in users else f"user {id_}")
    return Actor({"reaper": "the reaper", "system": "the server"}.get(word, word))


def is_uuid(text: str) -> bool:
    """Whether a text is an id."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True
