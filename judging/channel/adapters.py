"""PURE: how the iterations of a run become a verdict (channel-protocol §5 and §7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from judging.channel.frames import Iteration, Output
from judging.errors import Refusal
from judging.protocol.reading import Reading
from judging.rules import Limits

ACCEPTED = "Accepted"
RUNTIME_ERROR = "Runtime error"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run is judged to be. `extra` and `props` are compact JSON or empty."""

    verdict: str
    score: float | None = None
    max_score: float | None = None
    extra: str = ""
    props: str = ""


class Unreadable(ValueError):
    """The output makes no result; the words say why."""


def verdict_of(document: bytes, *, adapter: str, limits: Limits) -> Verdict:
    """What an output document says under an adapter. Raises Unreadable."""
    try:
        output = msgspec.json.decode(document, type=Output)
    except (msgspec.MsgspecError, ValueError) as error:
        raise Unreadable("the document cannot be read") from error
    return ADAPTERS[adapter](output.results, limits)


def by_json(results: list[Iteration], limits: Limits) -> Verdict:
    """The first JSON object with a verdict: iteration by iteration in its files by path, its stdout, stdout's last line."""
    for text in (text for iteration in results for text in _texts(iteration)):
        found = _object_with_verdict(text)
        if found is not None:
            return _report(found, limits)
    raise Unreadable("no JSON object with a verdict was found in the files or in stdout")


def by_exit_code(results: list[Iteration], limits: Limits) -> Verdict:
    """Accepted when every iteration ended with zero."""
    if not results:
        raise Unreadable("there was no iteration")
    clean = all(iteration.exit_code == 0 for iteration in results)
    return Verdict(verdict=ACCEPTED if clean else RUNTIME_ERROR)


ADAPTERS: dict[str, Callable[[list[Iteration], Limits], Verdict]] = {"json": by_json, "exit-code": by_exit_code}
"""By the names problems use (judging.models.Adapter)."""


def _texts(iteration: Iteration) -> Iterator[str]:
    files = iteration.output or {}
    yield from (files[path] for path in sorted(files))
    stdout = iteration.stdout or ""
    yield stdout
    yield from stdout.rstrip().splitlines()[-1:]


def _object_with_verdict(text: str) -> Reading | None:
    """The object a text is, when it has a verdict. Megabytes that cannot name one are not parsed: it takes seconds."""
    if '"verdict"' not in text and "\\u" not in text:
        return None
    try:
        found = Reading.of(text.encode()) if text.lstrip()[:1] == "{" else None
    except Refusal:
        return None
    return found if found is not None and found.has("verdict") else None


def _report(found: Reading, limits: Limits) -> Verdict:
    """The object by the rules a report's members have (runner-protocol §8)."""
    try:
        verdict = found.sent_text("verdict")
        score, most = found.finite_number("score"), found.finite_number("maxScore")
        found.finish()
        extra = found.opaque("extra", most_bytes=limits.extra_bytes)
        props = found.opaque("props", most_bytes=limits.opaque_bytes)
    except Refusal as refused:
        raise Unreadable(_words(refused)) from refused
    return Verdict(verdict=verdict, score=score, max_score=most, extra=extra, props=props)


def _words(refused: Refusal) -> str:
    members = "; ".join(f"{name}: {' '.join(why)}" for name, why in refused.errors.items())
    return members or refused.detail
