"""begin: the submissions of a package are kept, each with its promise; the sweep sends them in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from judging.durable import one_look, one_transaction
from judging.errors import FileRequired, NotFound, Refusal, StorageUnavailable
from judging.files import open_file, store
from judging.models import (
    Lane,
    ProblemVersion,
    PromiseState,
    SubmissionFile,
    Verification,
    VerificationFile,
    VerificationItem,
    VerificationState,
)
from judging.opaque import compact
from judging.states import Priority
from judging.text import cut, storable
from judging.verification.promise import stored
from runners.agent.errors import Invalid
from runners.agent.examples import opened, thoroughly
from runners.agent.job import BESIDE, MOST_BESIDE
from runners.agent.kinds import KINDS
from runners.agent.promises import Promised
from runners.models import DEFAULT_POOL

MOST = 500
PROMISED_LENGTH = VerificationItem._meta.get_field("name").max_length or 0
NAME_LENGTH = SubmissionFile._meta.get_field("file_name").max_length or 0
LIVE = (VerificationState.WORKING, VerificationState.CANCELLING)
MOST_WORDS = 2000


class PackageUnfit(Refusal):
    """The package cannot be judged as it is."""

    code = "verification.packageUnfit"


class NothingPromised(Refusal):
    """The package has no submissions of its own."""

    code = "verification.empty"


class VerificationBusy(Refusal):
    """This version is being verified already."""

    code = "verification.busy"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Who may judge it, and by what: `config` is compact JSON or empty, laid over the package's own as an assignment's is."""

    reason: str
    pools: tuple[str, ...] = (DEFAULT_POOL,)
    config: str = ""


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be sent in, by language; `unknown` are those of which nothing tells the language."""

    languages: Mapping[str, int]
    unknown: int


@dataclass(frozen=True, slots=True)
class _Kept:
    """A submission of the package whose files are stored; `note` says why it is not sent in."""

    promised: Promised
    files: tuple[tuple[str, str, UUID], ...] = ()
    note: str = ""


def preview(version: ProblemVersion, *, config: str = "") -> Preview:
    """Read the package and count. Raises PackageUnfit, NothingPromised, StorageUnavailable."""
    with _opened(version, config) as promised:
        languages = Counter(one.language or "" for one in promised)
    unknown = languages.pop("", 0)
    return Preview(dict(sorted(languages.items())), unknown)


def begin(version: UUID, *, by: str, wanted: Wanted) -> UUID:
    """Keep what is to be sent in; its id. Until it is over, no other begins of this version.

    A crash on the way leaves files that nothing refers to, which are collected. Raises NotFound, PackageUnfit,
    NothingPromised, VerificationBusy, and what storing a file raises.
    """
    with one_look():
        row = ProblemVersion.objects.select_related("problem", "package").filter(id=version).first()
        if row is None:
            raise NotFound
        if Verification.objects.filter(version=row, state__in=LIVE).exists():
            raise VerificationBusy
    with _opened(row, wanted.config) as promised:
        kept = [_keep(one) for one in promised]
    with one_transaction():
        # The version's row is the lock: of two that ask at once the second is told.
        ProblemVersion.objects.select_for_update(no_key=True).get(id=version)
        if Verification.objects.filter(version=row, state__in=LIVE).exists():
            raise VerificationBusy
        batch = Verification.objects.create(version=row, lane=_lane(row, wanted), by=by, reason=storable(wanted.reason))
        _write(batch, kept)
    return batch.id


@contextmanager
def _opened(version: ProblemVersion, config: str) -> Iterator[Sequence[Promised]]:
    """The package's submissions, with their files on disk."""
    if version.package is None or version.problem.problem_type not in KINDS:
        raise PackageUnfit("There is no package of a type that the reference runner reads.")
    try:
        with open_file(version.package) as package, opened(package, version.problem.problem_type, json.loads(config or "{}")) as promised:
            if not promised:
                raise NothingPromised
            if len(promised) > MOST:
                raise PackageUnfit(f"It has {len(promised)} submissions; at most {MOST} are judged.")
            yield promised
    except Invalid as error:
        raise PackageUnfit(cut("; ".join(error.faults), MOST_WORDS)) from error
    except OSError as error:
        raise StorageUnavailable(f"The package cannot be unpacked here: {error.strerror}.") from error


def _keep(promised: Promised) -> _Kept:
    """Store its files, the one to start from first. What cannot travel is left out with a note, or not needed."""
    if promised.language is None:
        return _Kept(promised, note="there is no language for it")
    names = [promised.source, *(name for name in promised.files if name != promised.source)]
    if len(names) > MOST_BESIDE or any(len(name) > NAME_LENGTH for name in names):
        return _Kept(promised, note=f"it has more than {MOST_BESIDE} files, or a name of more than {NAME_LENGTH} characters")
    files = []
    for place, name in enumerate(names):
        role = f"{BESIDE}{place}" if place else "source"
        try:
            files.append((role, name, _stored(promised.files[name], name)))
        except FileRequired:
            # An empty file beside others is as good as none; an empty source is nothing to judge.
            if not place:
                return _Kept(promised, note="its source is empty")
    return _Kept(promised, tuple(files))


def _stored(path: Path, name: str) -> UUID:
    with path.open("rb") as content:
        return store(content, name=name, most_bytes=settings.LIMITS.upload_bytes).id


def _lane(version: ProblemVersion, wanted: Wanted) -> Lane:
    """Of its own: what is judged in it is nobody's, and is found by nobody who looks through assignments."""
    problem = version.problem
    config: Any = thoroughly(problem.problem_type, json.loads(wanted.config or "{}"))
    return Lane.objects.create(
        problem=problem,
        problem_type=problem.problem_type,
        external=problem.external,
        pools=list(wanted.pools) or [DEFAULT_POOL],
        config=compact(config, most_bytes=settings.LIMITS.opaque_bytes),
        version=version,
        priority=Priority.JURY,
    )


def _write(batch: Verification, kept: Sequence[_Kept]) -> None:
    items = [_item(batch, one) for one in kept]
    VerificationItem.objects.bulk_create(items)
    VerificationFile.objects.bulk_create(
        VerificationFile(item=item, position=place, role=role, file_name=name, file_id=file)
        for item, one in zip(items, kept, strict=True)
        for place, (role, name, file) in enumerate(one.files)
    )


def _item(batch: Verification, kept: _Kept) -> VerificationItem:
    state = PromiseState.SKIPPED if kept.note else PromiseState.WAITING
    language = kept.promised.language or ""
    promise = storable(stored(kept.promised))
    return VerificationItem(
        verification=batch,
        name=storable(kept.promised.name)[:PROMISED_LENGTH],
        language=language,
        promise=promise,
        state=state,
        note=kept.note,
    )
