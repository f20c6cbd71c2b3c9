"""The life of a delivery: claim, lease, progress, release, report (runner-protocol §4, §5, §8)."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from rest_framework.request import Request

from judging import queue
from judging.errors import Unprocessable
from judging.protocol import documents, serializers
from judging.protocol.reading import Reading, identifier
from judging.protocol.schema import AUTHENTICATED, GATED, NOTHING, described
from judging.protocol.surface import RunnerSurface, caller, document, nothing, path_id, reading
from judging.queue import Nothing, Report
from judging.queue.report import check_lease
from judging.wake import Fits, Look
from runners.presence import Bearer

VERSION_LENGTH = 64


class Jobs(RunnerSurface):
    """Jobs, as the runner that claims and holds them sees them."""

    @described("claimJob", request=serializers.Claim, answers={200: serializers.ClaimedJob, **NOTHING}, problems=AUTHENTICATED)
    def claim(self, request: Request) -> HttpResponse:
        """Hand out the oldest job this runner may judge. The front lets the call wait when there is none."""
        who = caller(request)
        asked = reading(request)
        lease, wait = asked.number("leaseSeconds"), asked.number("waitSeconds")
        asked.finish()
        look = _look(request, who, wait)
        answer = queue.claim(who.runner.id, lease_seconds=lease)
        if isinstance(answer, Nothing):
            if answer is not Nothing.SHUT:
                look.fits, look.passed_by = _fits(who), answer is Nothing.PASSED_BY
            return nothing()
        assert answer.row.token is not None
        look.handout = (answer.row.id, answer.row.token)
        return document(documents.claimed(answer))

    @described("renewLease", request=serializers.Renewal, answers={200: serializers.Lease}, problems=GATED, path_ids=["job"])
    def renew(self, request: Request, job: str) -> HttpResponse:
        """Move a held job's deadline out; never in."""
        held, asked = path_id(job), reading(request)
        token, lease = _token(asked), asked.number("leaseSeconds")
        asked.finish()
        renewed = queue.renew(held, token=token, runner=caller(request).runner.id, lease_seconds=lease)
        return document(documents.renewed(renewed))

    @described("noteProgress", request=serializers.Progress, answers=NOTHING, problems=GATED, path_ids=["job"])
    def progress(self, request: Request, job: str) -> HttpResponse:
        """Say that the job is still being worked on, and under which outside id it was forwarded, if it was."""
        held, asked = path_id(job), reading(request)
        token, outside = _token(asked), asked.sent_text("outsideId", default="") or None
        asked.finish()
        queue.progress(held, token=token, runner=caller(request).runner.id, outside_id=outside)
        return nothing()

    @described("releaseJob", request=serializers.HeldLease, answers=NOTHING, problems=GATED, path_ids=["job"])
    def release(self, request: Request, job: str) -> HttpResponse:
        """Hand a job back because this runner is stopping."""
        held, asked = path_id(job), reading(request)
        token = _token(asked)
        asked.finish()
        queue.release(held, token=token, runner=caller(request).runner.id)
        return nothing()

    @described(
        "reportJob",
        request=serializers.Report,
        answers={200: serializers.Reported},
        problems=(*GATED, 422),
        path_ids=["job"],
    )
    def report(self, request: Request, job: str) -> HttpResponse:
        """End a delivery with a result or an infrastructure failure; a repeat is answered what the first was."""
        held, asked = path_id(job), reading(request)
        who = caller(request).runner.id
        token = _token(asked)
        try:
            said = _report(asked)
        except Unprocessable:
            # A stale holder is to hear of its lease, not of its documents.
            repeated = check_lease(held, token=token, runner=who)
            if repeated is None:
                raise
            return document(documents.taken(repeated))
        return document(documents.taken(queue.report(held, said, token=token, runner=who)))


def _look(request: Request, who: Bearer, wait: float | None) -> Look:
    """What the front is told of this claim, should it have to wait."""
    look = Look.of(request.META)
    look.runner = who.runner.id
    look.until = who.seconds_left
    if wait is not None:
        look.wait_seconds = min(max(wait, 0.0), settings.LIMITS.wait_max.total_seconds())
    return look


def _fits(who: Bearer) -> Fits:
    runner = who.runner
    return Fits(frozenset(runner.problem_types), runner.external, runner.pools)


def _token(asked: Reading) -> UUID | None:
    """The lease token, None when it cannot be one: such a token matches no lease."""
    return identifier(asked.sent_text("leaseToken"))


def _report(asked: Reading) -> Report:
    """What a report says. Raises MalformedRequest, then OpaqueTooLarge and its like."""
    limits = settings.LIMITS
    version = asked.text("runnerVersion", most=VERSION_LENGTH, default="")
    reason = asked.sent_text("failureReason", default="")
    verdict = asked.sent_text("verdict", default="")
    score, max_score = asked.finite_number("score"), asked.finite_number("maxScore")
    failed, files = asked.flag("infrastructureFailure"), asked.values("files")
    asked.finish()
    return Report(
        infrastructure_failure=failed,
        failure_reason=reason,
        verdict=verdict,
        score=score,
        max_score=max_score,
        runner_version=version,
        extra=asked.opaque("extra", most_bytes=limits.extra_bytes),
        props=asked.opaque("props", most_bytes=limits.opaque_bytes),
        files=tuple(_attachments(files[: limits.batch_items])),
    )


def _attachments(items: list[object]) -> list[tuple[str, UUID | None]]:
    """The (role, file) pairs among what came as `files`; what is none of them cannot fail a report."""
    named = [item for item in items if isinstance(item, dict)]
    pairs = [(item.get("name"), item.get("fileId")) for item in named]
    return [(name, identifier(file)) for name, file in pairs if isinstance(name, str) and isinstance(file, str)]
