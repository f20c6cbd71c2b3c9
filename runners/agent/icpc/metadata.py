"""`problem.yaml` of an ICPC package, in each of the versions that are read. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from runners.agent.icpc.grading import general_grading
from runners.agent.icpc.words import words
from runners.agent.reading import Reading

FILE = "problem.yaml"


class Version(StrEnum):
    """`problem_format_version`."""

    LEGACY = "legacy"
    """Also what is meant when none is said."""

    LEGACY_ICPC = "legacy-icpc"
    """A subset of it."""

    NEW = "2025-09"

    @property
    def is_new(self) -> bool:
        return self is Version.NEW


DESCRIPTIVE = frozenset({"problem_format_version", "name", "uuid", "source", "license", "rights_owner", "limits", "keywords"})
LEGACY_KEYS = DESCRIPTIVE | {"type", "author", "source_url", "validation", "validator_flags", "grading"}
NEW_KEYS = DESCRIPTIVE | {"type", "version", "credits", "embargo_until", "languages", "allow_file_writing", "constants"}
At = Callable[[object], str]
"""From a top-level key to its file and line."""

KNOWN_TYPES = frozenset({"pass-fail", "scoring", "multi-pass", "interactive", "submit-answer"})
NEW_SCORING = "scoring problems of 2025-09 are not judged: those of the legacy format are, with the default grader"


@dataclass(frozen=True, slots=True)
class Metadata:
    """What judging needs to know of `problem.yaml`."""

    version: Version
    interactive: bool
    multi_pass: bool
    custom: bool
    """Whether it asks for the package's own output validators. In 2025-09 their being there says so."""

    flags: tuple[str, ...]
    """Arguments of every output validator, before a test's own."""

    languages: tuple[str, ...]
    """Allowed; empty means all."""

    limits: Mapping[str, Any]
    """As it stands there, to be read as limits."""

    scoring: bool = False
    by_validator: bool = False
    """Whether its validators give points."""

    grading: Mapping[str, Any] = field(default_factory=dict)
    """What it says of every folder's grading, over what those say."""


def read_metadata(document: Any, reading: Reading, at: At = lambda key: FILE) -> Metadata:
    """Of the parsed document, None when there is no such file; faults and notes go to `reading`, by the line that `at` tells."""
    top = document if isinstance(document, Mapping) else {}
    if not isinstance(document, Mapping) and document is not None:
        reading.fault(FILE, "must be a map")
    version = _version(top.get("problem_format_version", "legacy"), reading, at)
    _unknown_keys(top, version, reading, at)
    types = _types(top.get("type", "pass-fail"), version, reading, at)
    validation = [] if version.is_new else words(top.get("validation", "default"), f"{FILE}: validation", reading)
    _check_validation(validation, reading, at)
    return Metadata(
        version=version,
        interactive="interactive" in types or "interactive" in validation,
        multi_pass="multi-pass" in types or "multi-pass" in validation,
        custom=validation[:1] == ["custom"] or bool({"interactive", "multi-pass"} & types),
        flags=() if version.is_new else tuple(words(top.get("validator_flags", ""), f"{FILE}: validator_flags", reading)),
        languages=_languages(top.get("languages", "all"), reading, at) if version.is_new else (),
        limits=_map(top.get("limits"), f"{FILE}: limits", reading),
        scoring="scoring" in types,
        by_validator="score" in validation,
        grading=_grading(top, reading) if "scoring" in types else {},
    )


def _version(said: Any, reading: Reading, at: At) -> Version:
    try:
        return Version(str(said))
    except ValueError:
        reading.fault(at("problem_format_version"), f"problem_format_version {str(said)[:50]!r} is not read: {', '.join(Version)} are")
        return Version.NEW if str(said)[:2] == "20" else Version.LEGACY


def _unknown_keys(top: Mapping[str, Any], version: Version, reading: Reading, at: At) -> None:
    """An error by the format. Old packages carry many keys of many tools, which nobody minds; new ones are held to it."""
    for key in top:
        if key not in (NEW_KEYS if version.is_new else LEGACY_KEYS):
            (reading.fault if version.is_new else reading.note)(at(key), f"unknown key {str(key)[:100]!r}")
    for key in ("name", "uuid") if version.is_new else ():
        if not top.get(key):
            reading.note(FILE, f"{key!r} is missing")
    if top.get("constants"):
        reading.fault(at("constants"), "constants are not put into files by this runner; give the package with them filled in")


def _types(said: Any, version: Version, reading: Reading, at: At) -> set[str]:
    listed = said.split() if isinstance(said, str) else said
    if not isinstance(listed, list) or not listed or not all(isinstance(item, str) for item in listed):
        reading.fault(at("type"), "type must be a word or a list of words")
        return set()
    types = set(listed)
    for unknown in sorted(types - KNOWN_TYPES):
        reading.fault(at("type"), f"unknown type {unknown[:50]!r}")
    if "scoring" in types and version.is_new:
        reading.fault(at("type"), f"type: {NEW_SCORING}")
    if "submit-answer" in types:
        reading.fault(at("type"), "submit-answer problems are not judged as icpc@1; output-only@1 judges answers in a ZIP")
    if not version.is_new and types - {"pass-fail", "scoring"} & KNOWN_TYPES:
        reading.note(at("type"), f"type {' '.join(sorted(types - {'pass-fail', 'scoring'}))} is of a newer format, but understood")
    return types


def _check_validation(validation: list[str], reading: Reading, at: At) -> None:
    if not validation:
        return
    first, *rest = validation
    known = {"score", "interactive", "multi-pass"}
    if first not in {"default", "custom"} or not set(rest) <= known or (first == "default" and rest):
        words_said = " ".join(validation)[:100]
        reading.fault(at("validation"), f"validation {words_said!r} is neither 'default' nor 'custom' with interactive or multi-pass")


def _grading(top: Mapping[str, Any], reading: Reading) -> Mapping[str, Any]:
    return general_grading(_map(top.get("grading"), f"{FILE}: grading", reading), f"{FILE}: grading", reading)


def _languages(said: Any, reading: Reading, at: At) -> tuple[str, ...]:
    if said == "all":
        return ()
    listed = [said] if isinstance(said, str) else said
    if not isinstance(listed, list) or not listed or not all(isinstance(item, str) for item in listed):
        reading.fault(at("languages"), "languages must be 'all' or a list of language codes")
        return ()
    return tuple(listed)


def _map(value: Any, where: str, reading: Reading) -> Mapping[str, Any]:
    if isinstance(value, Mapping) or value is None:
        return value or {}
    reading.fault(where, "must be a map")
    return {}
