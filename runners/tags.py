"""The tags of runners, each of which names a pool of them (runner-protocol §3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from runners.errors import TagsCount, TagsLength
from runners.models import Pool


class TagLimits(Protocol):
    """How many tags a runner may have, and of how many characters."""

    @property
    def tags(self) -> int: ...

    @property
    def tag_length(self) -> int: ...


def clean_tags(tags: Iterable[str], *, limits: TagLimits) -> list[str]:
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
