"""How a key proves itself: a nonce that is spent once, and a bearer token for its signature (runner-protocol §3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import connection

from runners import keys
from runners.clock import Clock
from runners.errors import NonceExpired, NonceMismatch, NonceUnknown, NotFound, RunnerNotApproved, SignatureWrong
from runners.models import BearerToken, Nonce, Runner, RunnerState

# The database's clock decides what has expired; a spent nonce is a deleted row, so two calls cannot both spend it.
_SPEND = "DELETE FROM runners_nonce WHERE digest = %s RETURNING fingerprint, expires_at <= judge_now()"
_CHALLENGE = """
INSERT INTO runners_nonce (digest, fingerprint, expires_at) VALUES (%s, %s, judge_now() + %s::interval) RETURNING expires_at
"""
_TOKEN = """
INSERT INTO runners_bearertoken (digest, runner_id, expires_at) VALUES (%s, %s, judge_now() + %s::interval) RETURNING expires_at
"""


@dataclass(frozen=True, slots=True)
class Secret:
    """A nonce or a bearer token, told once; only its hash is kept."""

    text: str = field(repr=False)
    expires_at: datetime


def challenge(fingerprint: str) -> Secret:
    """A fresh nonce for a known key, pending and revoked ones too. Raises NotFound for an unknown one."""
    if not Runner.objects.filter(fingerprint=fingerprint).exists():
        raise NotFound
    nonce = keys.new_secret()
    return Secret(nonce, _insert(_CHALLENGE, keys.digest(nonce), fingerprint, settings.LIMITS.nonce))


def spend(nonce: str | None, fingerprint: str) -> None:
    """Use a nonce up before anything else is checked. Raises NonceUnknown, NonceExpired, NonceMismatch."""
    with connection.cursor() as cursor:
        cursor.execute(_SPEND, [keys.digest(nonce or "")])
        row = cursor.fetchone()
    if row is None or nonce is None:
        raise NonceUnknown
    bound_to, expired = row
    if expired:
        raise NonceExpired
    if bound_to != fingerprint:
        raise NonceMismatch


def token(fingerprint: str, *, nonce: str, signature: str) -> Secret:
    """A bearer token for an approved key that signs its nonce.

    Order: spend, unknown, expired, mismatch, approved, signature. Raises what `spend` raises, RunnerNotApproved,
    SignatureWrong.
    """
    spend(nonce, fingerprint)
    runner = Runner.objects.filter(fingerprint=fingerprint).first()
    if runner is None or runner.state != RunnerState.APPROVED:
        raise RunnerNotApproved
    if not keys.signed(bytes(runner.public_key), nonce, signature):
        raise SignatureWrong
    text = keys.new_secret()
    return Secret(text, _insert(_TOKEN, keys.digest(text), runner.id, settings.LIMITS.token))


def drop_expired() -> int:
    """Remove nonces and tokens whose time is over; how many."""
    nonces, _ = Nonce.objects.filter(expires_at__lte=Clock()).delete()
    tokens, _ = BearerToken.objects.filter(expires_at__lte=Clock()).delete()
    return nonces + tokens


def _insert(statement: str, digest: bytes, owner: str | UUID, life: timedelta) -> datetime:
    with connection.cursor() as cursor:
        cursor.execute(statement, [digest, owner, str(life)])
        expires_at: datetime = cursor.fetchone()[0]
    return expires_at
