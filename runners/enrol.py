"""How a machine becomes a runner, and what operators decide of it (runner-protocol §3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction

from runners import keys
from runners.clock import Clock
from runners.errors import KeyLength, KeyMalformed, RunnerRevoked, SignatureWrong
from runners.handshake import spend
from runners.models import Runner, RunnerState
from runners.tags import clean_tags, note_pools


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
