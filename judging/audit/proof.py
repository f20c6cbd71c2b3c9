"""What audits have shown, for those who must know before they publish."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models import Q

from judging.models import Audit, AuditResult, AuditScope, LedgerRecord
from judging.states import RecordType

# Something that the audit did not see; on another server it saw none. Which transactions it saw is exact: times would
# lie about one that was under way. Nothing below the snapshot's own floor can be unseen, so the index on transactions bounds the look.
_UNSEEN = """
SELECT judge_server() <> %(server)s OR EXISTS (
    SELECT 1 FROM judging_ledgerrecord r JOIN judging_thread t ON t.id = r.thread
    WHERE (%(lanes)s::uuid[] IS NULL OR t.lane_id = ANY (%(lanes)s)) AND r.type = ANY (%(types)s)
        AND r.xid >= pg_snapshot_xmin(%(seen)s::pg_snapshot)
        AND NOT pg_visible_in_snapshot(r.xid, %(seen)s::pg_snapshot))
"""

_JUDGED = (RecordType.REPORTED, RecordType.VOIDED)
# Whatever may end an attempt changes what counts as well: it was given up, or an earlier one speaks again.
_ENDED = (
    *_JUDGED,
    RecordType.FAILED,
    RecordType.EXPIRED,
    RecordType.RELEASED,
    RecordType.REQUEUED,
    RecordType.CANCELLED,
    RecordType.SUPERSEDED,
    RecordType.DISPLACED,
    RecordType.DELETE_MARKED,
)


def last_audit() -> Audit | None:
    """The newest audit that ran to its end, whatever it looked at; None when there was none."""
    return Audit.objects.first()


def newest_mark() -> Audit | None:
    """The newest audit after which only later records are news: of everything, or going on from such a one.

    None when there was none on this server, or when the newest one diverged.
    """
    newest = Audit.objects.filter(scope__in=[AuditScope.ALL, AuditScope.RECENT]).first()
    if newest is None or newest.result == AuditResult.DIVERGED or newest.server != _server():
        return None
    return newest


@dataclass(frozen=True, slots=True)
class Shown:
    """What audits have shown so far: the newest one, whatever it looked at, and two reasons to run another.

    `diverged` is the newest that diverged, unless a later one looked at all that it looked at and found it equal. `behind`:
    something was judged that no audit of everything, or of what was news since one, has seen.
    """

    newest: Audit | None
    diverged: Audit | None
    behind: bool


def shown() -> Shown:
    """Asked by the dashboard every other second: in two looks, however many audits there were."""
    audits = list(Audit.objects.order_by("scope", "result", "-id").distinct("scope", "result"))
    audits.sort(key=lambda audit: audit.id, reverse=True)
    wrong = next((audit for audit in audits if audit.result == AuditResult.DIVERGED), None)
    mended = wrong is not None and any(_mends(audit, wrong) for audit in audits)
    whole = next((audit for audit in audits if audit.scope in {AuditScope.ALL, AuditScope.RECENT}), None)
    return Shown(next(iter(audits), None), None if mended else wrong, _is_behind(whole))


def _mends(later: Audit, wrong: Audit) -> bool:
    if later.id < wrong.id or later.result == AuditResult.DIVERGED:
        return False
    same = later.scope == wrong.scope == AuditScope.LANES and set(later.lanes) >= set(wrong.lanes)
    return later.scope == AuditScope.ALL or same


def _is_behind(whole: Audit | None) -> bool:
    if whole is None:
        return LedgerRecord.objects.filter(type=RecordType.REPORTED).exists()
    return _unseen(whole, _JUDGED)


def results_are_proved(lanes: Iterable[UUID]) -> bool:
    """Whether an audit of these lanes was equal and saw their last judgement, and none of anything diverged since."""
    return proof_of(lanes) is not None


def proof_of(lanes: Iterable[UUID]) -> Audit | None:
    """The audit that proves what these lanes' results are; None when something ended since, or a later audit diverged.

    An audit of recent news alone does not count: it trusts what an earlier one saw.
    """
    wanted = list(lanes)
    covers = Q(scope=AuditScope.ALL) | Q(scope=AuditScope.LANES, lanes__contains=wanted)
    proof = Audit.objects.filter(covers).first()
    if proof is None or proof.result != AuditResult.EQUAL:
        return None
    if Audit.objects.filter(result=AuditResult.DIVERGED, id__gt=proof.id).exists():
        return None
    return None if _unseen(proof, _ENDED, wanted) else proof


def _unseen(audit: Audit, types: Iterable[RecordType], lanes: list[UUID] | None = None) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_UNSEEN, {"lanes": lanes, "types": [str(kind) for kind in types], "seen": audit.snapshot, "server": audit.server})
        unseen: bool = cursor.fetchone()[0]
    return unseen


def _server() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT judge_server()")
        name: str = cursor.fetchone()[0]
    return name
