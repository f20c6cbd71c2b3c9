"""Who a live token speaks for, and when that runner was seen last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings

from runners.models import Runner
from runners.prepared import prepared_cursor

# A runner on the channel that fetches its files over REST is still on the channel. Who was not seen for so long that
# it counts as gone is connected anew.
_SEEN = """
UPDATE runners_runner SET last_seen_at = judge_now(), address = %(address)s::inet,
    transport = CASE WHEN transport = 'channel' AND last_seen_at > judge_now() - %(within)s::interval THEN transport ELSE 'rest' END,
    connected_since = CASE WHEN transport <> '' AND last_seen_at > judge_now() - %(within)s::interval THEN connected_since
        ELSE judge_now() END
WHERE id = %(runner)s
"""


@dataclass(frozen=True, slots=True)
class Bearer:
    """Who a valid token speaks for, for how many seconds yet, and how long it was silent (None: for ever)."""

    runner: Runner
    seconds_left: float
    unseen: timedelta | None


def seen(who: Bearer, *, address: str | None) -> None:
    """Note that a runner spoke, at most once a period, so that chatter costs no writes."""
    if who.unseen is None or who.unseen >= settings.LIMITS.seen_every:
        with prepared_cursor() as cursor:
            cursor.execute(_SEEN, {"within": str(settings.LIMITS.connected_within), "address": address, "runner": who.runner.id})
