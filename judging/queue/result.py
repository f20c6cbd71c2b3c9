"""What a runner reports, and what is made of it: the data of the ledger's record, and the result's row."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings

from judging.hold import Hold
from judging.models import Result
from judging.records import documents_digest
from judging.rows import JobRow, Scalar
from judging.text import cut, storable
from runners.keys import new_id

_FIELDS = Result._meta.concrete_fields
STORE = f"INSERT INTO judging_result ({', '.join(str(field.column) for field in _FIELDS)}) VALUES ({', '.join(['%s'] * len(_FIELDS))})"


@dataclass(frozen=True, slots=True)
class Report:
    """What a runner says of a delivery. `extra` and `props` are compact JSON or empty, gated by size already.

    `files` are (role, file id) pairs, attached like any, but none of them can fail the report.
    """

    infrastructure_failure: bool = False
    failure_reason: str = ""
    verdict: str | None = None
    score: float | None = None
    max_score: float | None = None
    runner_version: str = ""
    extra: str = ""
    props: str = ""
    files: tuple[tuple[str, UUID | None], ...] = ()


def data_of(said: Report, *, token: UUID, result: UUID, verdict: str, judged: bool, reason: str | None) -> dict[str, Scalar]:
    """What the record says; it carries the result's digest, so that no result can be altered unseen."""
    return {
        "token": str(token),
        "judged": judged,
        "reason": reason,
        "result": str(result),
        "verdict": verdict,
        "score": _written(said.score) if judged else None,
        "max_score": _written(said.max_score) if judged else None,
        "documents": documents_digest(*documents_of(said)),
    }


def documents_of(said: Report) -> tuple[str, str, str, str]:
    """What a result holds besides verdict and scores, as it is stored."""
    return cut(storable(said.failure_reason), settings.LIMITS.reason_bytes), storable(said.runner_version), said.extra, said.props


def stored_score(value: float | None) -> float | None:
    """A score as it is stored: there is no negative zero, which is equal to zero and written otherwise."""
    return None if value is None else float(value) + 0.0


def _written(score: float | None) -> str | None:
    """A score as the ledger writes it: its shortest exact text."""
    return None if score is None else repr(stored_score(score))


def result_of(held: Hold, row: JobRow, said: Report, *, verdict: str) -> Result:
    """The row that is stored; its delivery and its runner are those that `row` names."""
    assert row.token is not None
    judged = not said.infrastructure_failure
    failure_reason, runner_version, extra, props = documents_of(said)
    return Result(
        id=new_id(),
        token=row.token,
        job_id=row.id,
        submission_id=row.submission,
        attempt=row.attempt,
        runner_id=row.runner,
        verdict=verdict,
        score=stored_score(said.score) if judged else None,
        max_score=stored_score(said.max_score) if judged else None,
        infrastructure_failure=said.infrastructure_failure,
        failure_reason=failure_reason,
        runner_version=runner_version,
        extra=extra,
        props=props,
        created_at=held.at,
    )


def store(held: Hold, result: Result) -> None:
    """Write the row together with the verb's outcome."""
    held.beside(STORE, [getattr(result, field.attname) for field in _FIELDS])
