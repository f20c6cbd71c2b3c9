"""What audits have shown, for those who must know before they publish."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db import connection
from django.db.models import Q

from judging.models import Audit, AuditResult, AuditScope

# A judgement that the audit did not see. Which transactions it saw is exact: times would lie about one that was
# under way. Nothing below the snapshot's own floor can be unseen, so the index on transactions bounds the look.
_UNSEEN = """
SELECT EXISTS (
    SELECT 1 FROM judging_ledgerrecord r JOIN judging_thread t ON t.id = r.thread
    WHERE t.lane_id = ANY (%(lanes)s) AND r.type IN ('reported', 'voided')
        AND r.xid >= pg_snapshot_xmin(%(seen)s::pg_snapshot)
        AND NOT pg_visible_in_snapshot(r.xid, %(seen)s::pg_snapshot))
"""


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


def results_are_proved(lanes: Iterable[UUID]) -> bool:
    """Whether an audit of these lanes was equal and saw their last judgement, and none of anything diverged since.

    An audit of recent news alone does not count: it trusts what an earlier one saw.
    """
    wanted = list(lanes)
    covers = Q(scope=AuditScope.ALL) | Q(scope=AuditScope.LANES, lanes__contains=wanted)
    proof = Audit.objects.filter(covers).first()
    if proof is None or proof.result != AuditResult.EQUAL or proof.server != _server():
        return False
    if Audit.objects.filter(result=AuditResult.DIVERGED, id__gt=proof.id).exists():
        return False
    with connection.cursor() as cursor:
        cursor.execute(_UNSEEN, {"lanes": wanted, "seen": proof.snapshot})
        unseen: bool = cursor.fetchone()[0]
    return not unseen


def _server() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT judge_server()")
        name: str = cursor.fetchone()[0]
    return name
