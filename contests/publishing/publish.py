"""publish: final results become an immutable document, bound to the ledger that explains them (ledger.md §4)."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, connection
from django.db.models import Max, Q

from contests.errors import ResultsMoved, ResultsOpen, ResultsUnproved
from contests.models import Activity, Publication
from contests.publishing.results import Rows, digest, lanes_of, results
from judging.audit import last_audit, proof_of
from judging.durable import one_transaction
from judging.errors import NotFound
from judging.models import Audit, ItemState, Job, RejudgingItem, RejudgingState, Thread
from judging.records import canonical, instant
from judging.replay.exported import Anchor, write_anchors
from judging.states import OPEN
from judging.text import many, storable

FORMAT = "assize-results"
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Readiness:
    """How far an activity is from final results. `proof` is the audit that saw the last judgement and found all equal.

    `sum` is the digest of what would be published.
    """

    judged: int
    unjudged: int
    open: int
    last_audit: Audit | None
    proof: Audit | None
    command: str
    sum: str

    def require(self) -> None:
        """Raise ResultsOpen or ResultsUnproved where something forbids to publish."""
        if self.open:
            raise ResultsOpen(f"{many(self.open, 'attempt')} of this activity {'is' if self.open == 1 else 'are'} still to be judged.")
        if settings.PUBLISH_PROVED and self.proof is None:
            said = "the newest audit diverged" if self.last_audit and self.last_audit.diverged else "no audit has seen the last judgement"
            raise ResultsUnproved(f"Not published: {said}. Run `{self.command}`; when it says equal, publish again.")


def readiness(activity: Activity) -> Readiness:
    """What an operator must know before publishing."""
    return _readiness(activity, lanes_of(activity.id), results(activity))


def publish(activity: UUID, *, by: str, reason: str, seen: str = "") -> Publication:
    """Publish what counts now, as the next number. Earlier publications stay.

    Everything is read at one moment. `seen` is the sum of what whoever decides has seen, where it is to be nothing else.
    Raises NotFound, ResultsOpen, ResultsUnproved, ResultsMoved.
    """
    try:
        with one_transaction(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            found = Activity.objects.filter(id=activity).first()
            if found is None:
                raise NotFound
            lanes, rows = lanes_of(found.id), results(found)
            ready = _readiness(found, lanes, rows)
            ready.require()
            if seen and seen != ready.sum:
                raise ResultsMoved
            cursor.execute("SELECT judge_now()")
            return _written(found, rows, ready, lanes, {"at": cursor.fetchone()[0], "by": by, "reason": storable(reason)})
    except IntegrityError as twice:
        raise ResultsOpen("Somebody else published these results at this moment.") from twice


def _readiness(activity: Activity, lanes: list[UUID], rows: Rows) -> Readiness:
    judged = sum("verdict" in row for row in rows)
    return Readiness(
        judged=judged,
        unjudged=len(rows) - judged,
        open=_open(lanes),
        last_audit=last_audit(),
        proof=proof_of(lanes),
        command=f"manage.py audit --activity {activity.slug}",
        sum=digest(rows),
    )


def _open(lanes: list[UUID]) -> int:
    """Attempts that are still to change what counts: open ones, outcomes that wait to become results, and what a rejudging
    has not opened yet, unless its results are kept aside."""
    jobs = Job.objects.filter(Q(state__in=OPEN) | Q(outcome__isnull=False), lane__in=lanes)
    wanted = RejudgingItem.objects.filter(state=ItemState.WAITING, rejudging__aside=False, rejudging__state=RejudgingState.WORKING)
    return jobs.count() + wanted.filter(submission__lane__in=lanes).count()


def _written(activity: Activity, rows: Rows, ready: Readiness, lanes: list[UUID], said: dict[str, Any]) -> Publication:
    """Store the document with the anchor of the threads it rests on. Raises IntegrityError when a twin has this number."""
    number = (Publication.objects.filter(activity=activity).aggregate(last=Max("number"))["last"] or 0) + 1
    anchor = io.StringIO()
    tails = Thread.objects.filter(lane__in=lanes, n__gt=0).order_by("id").values_list("id", "n", "tail")
    anchored = write_anchors(anchor, ((thread, Anchor(n, bytes(tail))) for thread, n, tail in tails), at=said["at"])
    document = _document(activity, rows, number=number, at=said["at"], anchor=anchored, proof=ready.proof)
    text = canonical(document).decode()
    return Publication.objects.create(
        activity=activity,
        number=number,
        document=text,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        results_sha256=ready.sum,
        anchor=anchor.getvalue(),
        **said,
    )


def _document(activity: Activity, rows: Rows, *, number: int, at: datetime, anchor: str, proof: Audit | None) -> dict[str, object]:
    """What is published. `anchor` is the digest that seals the anchor file."""
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "activity": activity.slug,
        "title": activity.title,
        "number": number,
        "at": instant(at),
        "anchor": anchor,
        "auditedAt": instant(proof.at) if proof else None,
        "results": rows,
    }
