"""Who may pull a package: tokens made at a claim, never stored (channel-protocol §5)."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import jwt
from django.conf import settings

from judging.models import Job, ProblemVersion
from judging.rows import JobRow
from judging.states import JobState
from runners.clock import Clock

LIFE = timedelta(seconds=600)
AUDIENCE = "oci_runner"
ALGORITHM = "HS256"


@dataclass(frozen=True, slots=True)
class Pull:
    """What a good token opens: the one repository, and the problem's version that its job is judged by."""

    repository: UUID
    version: ProblemVersion


def mint(row: JobRow, *, problem: UUID) -> str:
    """A token for the package of a job that was just handed out; its time is the database's."""
    assert row.claimed_at is not None
    claims = {
        "aud": AUDIENCE,
        "sub": str(row.runner),
        "jti": str(row.token),
        "iat": int(row.claimed_at.timestamp()),
        "exp": int((row.claimed_at + LIFE).timestamp()),
        "oci": {"repository": str(problem), "actions": ["pull"]},
    }
    return jwt.encode(claims, _key(), algorithm=ALGORITHM)


def pull_of(text: str) -> Pull | None:
    """What a token opens now; None when it opens nothing: forged, expired, or its job is held no more."""
    try:
        claims = jwt.decode(
            text,
            _key(),
            algorithms=[ALGORITHM],
            audience=AUDIENCE,
            # The time is compared with the database's clock, which also said when the token begins.
            options={"require": ["exp", "sub", "jti"], "verify_exp": False, "verify_iat": False},
        )
        runner, lease, repository = UUID(claims["sub"]), UUID(claims["jti"]), UUID(claims["oci"]["repository"])
        expires = datetime.fromtimestamp(claims["exp"], UTC)
        allowed = "pull" in claims["oci"]["actions"]
    except (jwt.InvalidTokenError, ValueError, KeyError, TypeError, AttributeError):
        return None
    held = Job.objects.filter(token=lease, runner=runner, state=JobState.RUNNING, lease_until__gt=Clock())
    row = held.annotate(now=Clock()).select_related("version__package").first()
    if row is None or not allowed or row.now >= expires:
        return None
    return Pull(repository, row.version)


def _key() -> bytes:
    """A key of its own, so that no signature of another kind passes for one of these."""
    return hmac.digest(settings.SECRET_KEY.encode(), b"assize channel package pull", "sha256")
