"""How a machine becomes a runner: registration, challenge, handshake, and what operators decide (runner-protocol §3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import DateTimeField, Func

from runners import keys
from runners.errors import (
    KeyLength,
    KeyMalformed,
    NonceExpired,
    NonceMismatch,
    NonceUnknown,
    NotFound,
    RunnerNotApproved,
    RunnerRevoked,
    SignatureWrong,
    TagsCount,
    TagsLength,
)
from runners.models import BearerToken, Nonce, Pool, Runner, RunnerState

# The database's clock decides what has expired; a spent nonce is a deleted row, so two calls cannot both spend it.
_SPEND = "DELETE FROM runners_nonce WHERE digest = %s RETURNING fingerprint, expires_at <= judge_now()"
_CHALLENGE = """
INSERT INTO runners_nonce (digest, fingerprint, expires_at) VALUES (%s, %s, judge_now() + %s::interval) RETURNING expires_at
"""
_TOKEN = """
INSERT INTO runners_bearertoken (digest, runner_id, expires_at) VALUES (%s, %s, judge_now() + %s::interval) RETURNING expires_at
"""
# A runner on the channel that fetches its files over REST is still on the channel. Who was not seen for so long that
# it counts as gone is connected anew.
_SEEN = """
UPDATE runners_runner SET last_seen_at = judge_now(), address = %(address)s::inet,
    transport = CASE WHEN transport = 'channel' AND last_seen_at > judge_now() - %(within)s::interval THEN transport ELSE 'rest' END,
    connected_since = CASE WHEN transport <> '' AND last_seen_at > judge_now() - %(within)s::interval THEN connected_since
        ELSE judge_now() END
WHERE id = %(runner)s
"""


class Clock(Func):
    """The database's clock at this statement: the one the tests can move."""

    function = "judge_now"
    template = "judge_now()"
    output_field = DateTimeField()


@dataclass(frozen=True, slots=True)
class Introduction:
    """What a machine says of itself when it registers. `machine` is compact JSON or empty."""

    public_key: str
    name: str
    product: str = ""
    version: str = ""
    problem_types: tuple[str, ...] = ()
    external: bool = False
    tags: tuple[str, ...] = ()
    machine: str = ""
    nonce: str | None = None
    signature: str | None = None
    address: str | None = None

    def refreshed(self) -> dict[str, Any]:
        """What every registration writes again; state, id and tags are not among it."""
        return {
            "name": self.name,
            "product": self.product,
            "version": self.version,
            "problem_types": list(self.problem_types),
            "external": self.external,
            "machine": self.machine,
            "address": self.address,
            "last_seen_at": Clock(),
        }


@dataclass(frozen=True, slots=True)
class Secret:
    """A nonce or a bearer token, told once; only its hash is kept."""

    text: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Bearer:
    """Who a valid token speaks for, for how many seconds yet, and how long it was silent (None: for ever)."""

    runner: Runner
    seconds_left: float
    unseen: timedelta | None


def register(said: Introduction) -> Runner:
    """Enrol a new key as pending, or refresh a known one that signs.

    Order: base64, length, known?, revoked, nonce, signature, write. Raises KeyMalformed, KeyLength, TagsCount,
    TagsLength, RunnerRevoked, NonceUnknown, NonceExpired, NonceMismatch, SignatureWrong.
    """
    raw = keys.decode_base64(said.public_key)
    if raw is None:
        raise KeyMalformed
    if len(raw) != keys.KEY_BYTES:
        raise KeyLength
    identity = keys.fingerprint(raw)
    if not Runner.objects.filter(fingerprint=identity).exists():
        created = _enrol(said, raw, identity)
        if created is not None:
            return created
    return _refresh(said, raw, identity)


def _enrol(said: Introduction, raw: bytes, identity: str) -> Runner | None:
    """A pending row for a key never seen, or None when another call enrolled it at this moment."""
    tags = clean_tags(said.tags, limits=settings.LIMITS)
    try:
        with transaction.atomic():
            created = Runner.objects.create(fingerprint=identity, public_key=raw, tags=tags, **said.refreshed())
            note_pools(tags)
    except IntegrityError:
        return None
    return Runner.objects.get(id=created.id)


def _refresh(said: Introduction, raw: bytes, identity: str) -> Runner:
    """A known key proves itself by the challenge; guarded again at the write, for a revocation in between."""
    if Runner.objects.filter(fingerprint=identity, state=RunnerState.REVOKED).exists():
        raise RunnerRevoked
    spend(said.nonce, identity)
    if not keys.signed(raw, said.nonce or "", said.signature or ""):
        raise SignatureWrong
    known = Runner.objects.filter(fingerprint=identity).exclude(state=RunnerState.REVOKED)
    if not known.update(**said.refreshed()):
        raise RunnerRevoked
    return Runner.objects.get(fingerprint=identity)


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


def seen(who: Bearer, *, address: str | None) -> None:
    """Note that a runner spoke, at most once a period, so that chatter costs no writes."""
    if who.unseen is None or who.unseen >= settings.LIMITS.seen_every:
        with connection.cursor() as cursor:
            cursor.execute(_SEEN, {"within": str(settings.LIMITS.connected_within), "address": address, "runner": who.runner.id})


def approve(runner: UUID) -> bool:
    """Pending becomes approved; whether the runner is approved now. A revoked one never is."""
    pending = Runner.objects.filter(id=runner, state=RunnerState.PENDING)
    if pending.update(state=RunnerState.APPROVED, approved_at=Clock()):
        return True
    return Runner.objects.filter(id=runner, state=RunnerState.APPROVED).exists()


def revoke(runner: UUID, *, reason: str) -> bool:
    """Any live state becomes revoked, for ever; whether this call did it. Runs in the caller's transaction.

    FOR UPDATE, not less: it waits for a claim of this runner that is under way, and makes the next one wait.
    """
    live = Runner.objects.select_for_update().filter(id=runner).exclude(state=RunnerState.REVOKED)
    if live.first() is None:
        return False
    return bool(
        Runner.objects.filter(id=runner)
        .exclude(state=RunnerState.REVOKED)
        .update(state=RunnerState.REVOKED, revoked_at=Clock(), revoke_reason=reason[:500])
    )


def drop_expired() -> int:
    """Remove nonces and tokens whose time is over; how many."""
    nonces, _ = Nonce.objects.filter(expires_at__lte=Clock()).delete()
    tokens, _ = BearerToken.objects.filter(expires_at__lte=Clock()).delete()
    return nonces + tokens


def clean_tags(tags: Iterable[str], *, limits: Any) -> list[str]:
    """Trimmed, lowercased, deduplicated in order, blanks dropped. Raises TagsCount, TagsLength."""
    kept = list(dict.fromkeys(tag.strip().lower() for tag in tags if tag.strip()))
    if len(kept) > limits.tags:
        raise TagsCount
    if any(len(tag) > limits.tag_length for tag in kept):
        raise TagsLength
    return kept


def note_pools(tags: Iterable[str]) -> None:
    """Make sure that the operators' list of pools has these."""
    Pool.objects.bulk_create([Pool(name=tag) for tag in tags], ignore_conflicts=True)


def _insert(statement: str, digest: bytes, owner: str | UUID, life: timedelta) -> datetime:
    with connection.cursor() as cursor:
        cursor.execute(statement, [digest, owner, str(life)])
        expires_at: datetime = cursor.fetchone()[0]
    return expires_at
