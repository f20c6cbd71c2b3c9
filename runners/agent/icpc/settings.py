"""What the folders and tests of `data/` say of themselves: `testdata.yaml`, `test_group.yaml`, a test's own `.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.agent.documents import at_line, parse_yaml
from runners.agent.errors import Invalid
from runners.agent.icpc.grading import DEFAULT, NO_GRADERS, Grading, read_grading
from runners.agent.icpc.metadata import NEW_SCORING, Metadata
from runners.agent.icpc.words import words
from runners.agent.reading import Reading

SCORING_KEYS = frozenset(
    {"max_score", "score_aggregation", "require_pass", "static_validation_score", "accept_score", "reject_score", "range"}
)
NEW_KEYS = frozenset(
    {"args", "input_validator_args", "output_validator_args", "static_validator_args", "input_visualizer_args", "output_visualizer_args"}
    | {"full_feedback", "hint", "description"}
)
LEGACY_KEYS = frozenset({"on_reject", "grading", "grader_flags", "input_validator_flags", "output_validator_flags"})
Flags = Mapping[str, tuple[str, ...]] | tuple[str, ...]
"""Arguments for all programs, or by their names."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a folder says of its tests; a folder below keeps what it does not say itself."""

    args: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    input_flags: Flags = ()
    grading: Grading = DEFAULT


class SettingsReader:
    """Reads the settings of one package. Faults and notes go to the reading."""

    def __init__(self, data: Path, metadata: Metadata, reading: Reading) -> None:
        self._data = data
        self._metadata = metadata
        self._version = metadata.version
        self._reading = reading
        self.file_name = "test_group.yaml" if metadata.version.is_new else "testdata.yaml"

    def of_folder(self, folder: Path, above: Settings) -> Settings:
        """The folder's own over those of the folder above."""
        path = folder / self.file_name
        return self.of_file(path, above) if path.is_file() else above

    def of_file(self, path: Path, above: Settings) -> Settings:
        """One file's over `above`."""
        where = f"data/{path.relative_to(self._data)}"
        try:
            document = parse_yaml(path.read_bytes(), where)
        except Invalid as error:
            self._reading.faults += error.faults
            return above
        members = document if isinstance(document, Mapping) else {}
        if document is not None and not isinstance(document, Mapping):
            self._reading.fault(where, "must be a map")
        self._check_keys(members, where, path)
        kind = "args" if self._version.is_new else "flags"
        return Settings(
            args=self._words(members, "args", where, above.args),
            flags=self._words(members, f"output_validator_{kind}", where, above.flags),
            input_flags=self._by_name(members, f"input_validator_{kind}", where, above.input_flags),
            grading=read_grading({**members, **self._metadata.grading}, where, above.grading, self._reading)
            if self._metadata.scoring
            else above.grading,
        )

    def _check_keys(self, members: Mapping[str, Any], where: str, path: Path) -> None:
        say = self._reading.fault if self._version.is_new else self._reading.note
        scoring = self._metadata.scoring
        for key in members:
            if key in SCORING_KEYS and self._version.is_new:
                self._reading.fault(at_line(where, path, key), f"{key}: {NEW_SCORING}")
            elif key in SCORING_KEYS and not scoring:
                say(where, f"{key}: ignored, the problem is not scoring")
            elif key not in (NEW_KEYS if self._version.is_new else LEGACY_KEYS | SCORING_KEYS):
                say(where, f"unknown key {str(key)[:100]!r}")
        if members.get("grading") == "custom":
            self._reading.fault(at_line(where, path, "grading"), f"grading: {NO_GRADERS}")
        if members.get("on_reject") == "continue" and not scoring:
            self._reading.note(where, "on_reject: judging ends at the first test that fails all the same, and its verdict counts")

    def _words(self, members: Mapping[str, Any], key: str, where: str, above: tuple[str, ...]) -> tuple[str, ...]:
        value = members.get(key)
        if isinstance(value, Mapping) and not self._version.is_new:
            # The legacy format may name the validator that is meant; there is one to speak of.
            value = value.get("flags")
        return tuple(words(value, f"{where}: {key}", self._reading)) if key in members else above

    def _by_name(self, members: Mapping[str, Any], key: str, where: str, above: Flags) -> Flags:
        value = members.get(key)
        if not isinstance(value, Mapping):
            return self._words(members, key, where, ()) if key in members else above
        named = value if self._version.is_new else {value.get("name"): value.get("flags")}
        return {str(name): tuple(words(item, f"{where}: {key}", self._reading)) for name, item in named.items()}
