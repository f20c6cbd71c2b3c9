"""Which machines bring trouble lately: hand-outs that ended without a verdict, by the ledger's newest records.

A machine is judged by the jobs it failed at: one that nobody can judge comes back to it hand-out by hand-out, which is not its fault.
Bounded by their number, so that a flood of them costs no more than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

RECORDS = 5000
_LATELY = f"""
SELECT r.name, r.fingerprint, count(DISTINCT l.job), count(DISTINCT l.job) FILTER (WHERE l.in_vain), count(*) FILTER (WHERE l.in_vain)
FROM (SELECT type, at, job, data, type <> 'reported' OR data->>'judged' = 'false' AS in_vain
      FROM judging_ledgerrecord ORDER BY id DESC LIMIT {RECORDS}) l
JOIN judging_delivery d ON d.token = (l.data->>'token')::uuid JOIN runners_runner r ON r.id = d.runner_id
WHERE l.at > (SELECT judge_now()) - interval '1 hour' AND r.state = 'approved'
  AND (l.type IN ('reported', 'expired', 'failed') OR l.type = 'requeued'
       AND l.data->>'cause' IN ('infrastructure failure', 'contact with the runner was lost'))
GROUP BY r.id, r.name, r.fingerprint ORDER BY 4 DESC, r.name
"""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What one machine did in the last hour: the jobs it had, those it failed at, and the hand-outs that came back for it."""

    name: str
    fingerprint: str
    jobs: int
    failed: int
    came_back: int

    @property
    def rate(self) -> float:
        """The share of its jobs it failed at."""
        return self.failed / self.jobs if self.jobs else 0.0


def lately() -> list[Trouble]:
    """Every approved machine that ended a hand-out in the last hour, those with most trouble first."""
    with connection.cursor() as cursor:
        cursor.execute(_LATELY)
        return [Trouble(*row) for row in cursor.fetchall()]


def suspects(machines: Sequence[Trouble]) -> list[Trouble]:
    """PURE: those that stand out: a fifth of at least ten came to nothing, and twice the share of all the others.

    Where all of them fail alike it is not the machines.
    """
    return [each for each in machines if each.jobs >= 10 and each.rate >= 0.2 and each.rate >= 2 * _of_others(each, machines)]


def _of_others(one: Trouble, machines: Sequence[Trouble]) -> float:
    others = [each for each in machines if each is not one]
    jobs = sum(each.jobs for each in others)
    return sum(each.failed for each in others) / jobs if jobs else 0.0
