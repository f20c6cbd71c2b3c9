"""Keys of the runner channel: made by an operator, shown once, kept as SHA-256 (channel-protocol §1)."""

from __future__ import annotations

import re
import secrets
import string
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.utils.text import slugify

from runners import keys
from runners.clock import Clock
from runners.errors import Unauthenticated
from runners.models import ChannelKey, Runner, RunnerState, Transport
from runners.prepared import prepared_cursor
from runners.tags import clean_tags, note_pools

RANDOM_LENGTH = 30
_ALPHABET = string.digits + string.ascii_letters
_MINUTE = timedelta(minutes=1)

# Counted in the key's row, so that all processes of all machines count together.
_ATTEMPT = """
UPDATE runners_channelkey SET
    attempts = CASE WHEN counted_from > judge_now() - %s::interval THEN attempts + 1 ELSE 1 END,
    counted_from = CASE WHEN counted_from > judge_now() - %s::interval THEN counted_from ELSE judge_now() END
WHERE digest = %s RETURNING attempts
"""

# Asked for every message: that the key still opens, and that its runner was seen, here: of two connections the newer may
# have ended.
_STANDING = """
WITH holder AS (
    SELECT r.id, k.line, k.line_token, coalesce(r.last_seen_at < judge_now() - %s::interval, true) AS unseen
    FROM runners_channelkey k JOIN runners_runner r ON r.id = k.runner_id
    WHERE k.digest = %s AND r.id = %s AND r.state = 'approved'
), seen AS (
    UPDATE runners_runner r SET last_seen_at = judge_now(), transport = 'channel',
        connected_since = CASE r.transport WHEN 'channel' THEN r.connected_since ELSE judge_now() END
    FROM holder h WHERE r.id = h.id AND h.unseen
)
SELECT line, line_token FROM holder
"""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who holds a good key."""

    runner: UUID
    digest: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Standing:
    """What a good key's row says: which connection took up a held job last, and under which token."""

    line: UUID | None
    token: UUID | None


def replace(runner: Runner) -> tuple[str, bool]:
    """Give a runner a new key, and a slug if it has none; the key, and whether there was one before.

    Runs in the caller's transaction.
    """
    text = settings.CHANNEL_KEY_PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(RANDOM_LENGTH))
    fresh = {"digest": keys.digest(text), "created_at": Clock(), "line": None, "line_token": None}
    _, created = ChannelKey.objects.update_or_create(runner=runner, defaults=fresh)
    if runner.slug is None:
        Runner.objects.filter(id=runner.id).update(slug=_free_slug(runner))
    return text, not created


def add_runner(name: str, *, problem_types: Iterable[str], tags: Iterable[str]) -> Runner:
    """An approved runner without a key pair: a client that knows only the channel never registers itself.

    Its public key is random bytes whose private half nobody has, so nobody can ever shake hands in its name.
    """
    kept = clean_tags(tags, limits=settings.LIMITS)
    nobodys = secrets.token_bytes(keys.KEY_BYTES)
    note_pools(kept)
    row = Runner.objects.create(
        fingerprint=keys.fingerprint(nobodys),
        public_key=nobodys,
        name=name[:128],
        problem_types=list(dict.fromkeys(problem_types)),
        tags=kept,
        state=RunnerState.APPROVED,
        approved_at=Clock(),
    )
    return Runner.objects.get(id=row.id)


def _free_slug(runner: Runner) -> str:
    """The runner's name as a slug; with a part of its id when another runner has that already."""
    slug = slugify(runner.name)[:50] or "runner"
    return f"{slug}-{runner.id.hex[-8:]}" if Runner.objects.filter(slug=slug).exists() else slug


def caller(text: str, named: str) -> Caller:
    """Who may connect with this key under this id or slug. Raises Unauthenticated, alike for everything that is wrong."""
    if not re.fullmatch(re.escape(settings.CHANNEL_KEY_PREFIX) + rf"[0-9A-Za-z]{{{RANDOM_LENGTH}}}", text):
        raise Unauthenticated
    digest = keys.digest(text)
    row = Runner.objects.filter(channel_key__digest=digest, state=RunnerState.APPROVED).only("id", "slug").first()
    if row is None or named.lower() not in {str(row.id), row.slug}:
        raise Unauthenticated
    return Caller(row.id, digest)


def count_attempt(who: Caller) -> bool:
    """Count a connection; whether it is still within the minute's number."""
    with prepared_cursor() as cursor:
        cursor.execute(_ATTEMPT, [str(_MINUTE), str(_MINUTE), who.digest])
        row = cursor.fetchone()
    return row is not None and row[0] <= settings.LIMITS.channel_attempts


def standing(who: Caller) -> Standing | None:
    """How the key stands now; None when it opens nothing any more: revoked, replaced, forgotten."""
    with prepared_cursor() as cursor:
        cursor.execute(_STANDING, [str(settings.LIMITS.seen_every), who.digest, who.runner])
        row = cursor.fetchone()
    return Standing(*row) if row else None


def take_line(who: Caller, *, line: UUID, token: UUID) -> None:
    """Note that this connection took up the job held under this token. Runs in the caller's transaction."""
    ChannelKey.objects.filter(digest=who.digest).update(line=line, line_token=token)


def connected(who: Caller, *, address: str | None) -> datetime | None:
    """Note that a runner is connected by the channel from now on, and since when that is."""
    row = Runner.objects.filter(id=who.runner)
    now = Clock()
    row.update(transport=Transport.CHANNEL, connected_since=now, last_seen_at=now, address=address)
    return row.values_list("connected_since", flat=True).first()


def disconnected(who: Caller, *, since: datetime | None) -> None:
    """Note that a connection has ended, unless the runner has a newer one."""
    ended = Runner.objects.filter(id=who.runner, transport=Transport.CHANNEL, connected_since=since)
    ended.update(transport=Transport.NONE, connected_since=None)


def introduce(who: Caller, **said: str) -> None:
    """Keep what the machine says of itself: os, arch, version, release_channel, checksum."""
    Runner.objects.filter(id=who.runner).exclude(**said).update(**said)
