"""The programs a package brings along: output and input validators, and how each is built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from runners.agent.jury import Recipe
from runners.agent.languages import TABLE, Language
from runners.agent.programs import SCRIPT
from runners.agent.reading import Reading

NOT_RUN = (".ctd", ".viva")
"""Languages of their own for input validators, which are not run here."""

ENTRIES = {"python": ("__main__.py", "main.py"), "java": ("Main.java",), "javascript": ("main.js",)}
PASSIVE = frozenset({"", ".md", ".txt", ".h", ".hpp", ".hh"})


@dataclass(frozen=True, slots=True)
class Validator:
    """One program, by the name the package calls it."""

    name: str
    recipe: Recipe


def read_validators(folder: Path, reading: Reading, *, one_only: bool) -> tuple[Validator, ...]:
    """The programs of a validators' folder, in order; every file or folder in it is one.

    Files that are no sources, headers for one, belong to all. With `one_only` several sources are one program.
    """
    if not folder.is_dir():
        return ()
    entries = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    folders = [path for path in entries if path.is_dir() and path.name != "__pycache__"]
    files = {path.name: path for path in entries if path.is_file()}
    found = [_program(path.name, _below(path), f"{folder.name}/{path.name}", reading) for path in folders]
    sources = [name for name in files if _language(name)]
    if {"build", "run"} & files.keys() or (one_only and len(sources) > 1):
        found.append(_program(folder.name, files, folder.name, reading))
    else:
        passive = {name: path for name, path in files.items() if name not in sources}
        found += [_program(name, {name: files[name], **passive}, f"{folder.name}/{name}", reading) for name in sources]
        for name in passive:
            if PurePosixPath(name).suffix in NOT_RUN:
                reading.note(f"{folder.name}/{name}", "is not run by this runner")
            elif PurePosixPath(name).suffix.lower() not in PASSIVE:
                reading.note(f"{folder.name}/{name}", "in no language this runner knows, ignored")
    return tuple(sorted((validator for validator in found if validator), key=lambda validator: validator.name))


def _below(folder: Path) -> dict[str, Path]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): path for path in files if "__pycache__" not in path.parts}


def _program(name: str, files: Mapping[str, Path], where: str, reading: Reading) -> Validator | None:
    """How its files become a program; None, with a fault, when nobody can tell."""
    if {"build", "run"} & files.keys():
        return Validator(name, Recipe(where, SCRIPT, ("build",) if "build" in files else (), files))
    languages = {language.family: language for file in files if (language := _language(file))}
    if len(languages) != 1:
        said = " and ".join(sorted(languages)) or "no language this runner knows"
        reading.fault(where, f"is written in {said}: it must be in one, or have a build script")
        return None
    language = next(iter(languages.values()))
    sources = entry_first(language, [file for file in files if (known := _language(file)) and known.family == language.family])
    if not sources:
        reading.fault(where, f"has several files of {language.family} and none called {' or '.join(ENTRIES[language.family])}")
        return None
    return Validator(PurePosixPath(name).stem, Recipe(where, language, sources, files))


def entry_first(language: Language, names: Iterable[str]) -> tuple[str, ...]:
    """The sources, the one to start from first; empty when it is not known which that is. Only compiled languages take several."""
    names = sorted(names)
    wanted = ENTRIES.get(language.family, ())
    first = next((name for name in wanted if name in names), names[0])
    if language.keep is not None:
        return (first, *(name for name in names if name != first))
    return (first,) if len(names) == 1 or first in wanted else ()


def _language(name: str) -> Language | None:
    suffix = PurePosixPath(name).suffix.lower()
    return next((language for language in TABLE if suffix in language.extensions), None)
