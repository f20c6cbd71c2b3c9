"""PURE: hand-outs of one job that came to nothing, and what that says: whether to mend the job, a machine, or the time it is given.

The server reads no reason: it compares them. The same one from different machines is the job's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEASE_RAN_OUT = "the lease ran out"


@dataclass(frozen=True, slots=True)
class Failure:
    """One hand-out that brought no verdict: the machine's id and name, and the reason it gave, or LEASE_RAN_OUT."""

    runner: str
    name: str
    reason: str


def diagnose(failures: Sequence[Failure]) -> str:
    """What to look at, in a sentence or two; empty for one failure or none, which may be chance."""
    if len(failures) < 2:
        return ""
    reasons = {each.reason for each in failures}
    machines = {each.runner for each in failures}
    if reasons == {LEASE_RAN_OUT}:
        return _silent(failures, len(machines))
    if len(machines) == 1:
        machine = failures[0].name
        return f"Every time it was with {machine}: look at that machine, or change its pools, then rejudge. Another may well judge it."
    if len(reasons) == 1:
        return (
            f"{len(machines)} machines gave the same reason, so that it lies with the job: with its configuration or its package, "
            "which are mended before it is rejudged, or with what its client sent along (props), which never changes: "
            "then it has to be sent in again."
        )
    return (
        f"{len(machines)} machines gave {len(reasons)} different reasons: read each below, and look at the machines before it is rejudged."
    )


def _silent(failures: Sequence[Failure], machines: int) -> str:
    where = f"with {failures[0].name}" if machines == 1 else f"with {machines} machines"
    why = "either it dies of this job, or nothing renews the lease"
    return f"Each time the machine fell silent, {where}: {why}. Look at its log, then rejudge."
