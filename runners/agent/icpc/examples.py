"""The example submissions of an ICPC package, and what each is said to get."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runners.agent.documents import parse_yaml
from runners.agent.errors import Invalid
from runners.agent.icpc.demands import by_folder, by_map, by_tag, glob
from runners.agent.icpc.package import Package
from runners.agent.icpc.validators import entry_first
from runners.agent.languages import TABLE, Language
from runners.agent.promises import Demand, Promised

YAML = "submissions/submissions.yaml"
JSON = ("submissions.json", "submissions/submissions.json")
OWN_KEYS = frozenset(
    {"language", "entrypoint", "authors", "model_solution", "permitted", "required", "score", "message", "use_for_time_limit"}
)
NO_SOURCES = frozenset({"", ".md", ".txt", ".yaml", ".json", ".class", ".out", ".exe"})
OTHER_CODES = {"py3": "python3", "python": "python3", "js": "javascript", "c++": "cpp"}
SOURCE_BYTES = 1 << 20


def examples(package: Package) -> list[Promised]:
    """Every submission, in order. Raises Invalid when what describes them cannot be read."""
    root = package.root / "submissions"
    described = _described(package.root)
    paths = sorted(path for path in root.glob("*/*") if not path.name.startswith(".") and path.name != "__pycache__")
    return [_example(package, root, path, described) for path in paths if path.is_dir() or path.suffix.lower() not in NO_SOURCES]


def _described(root: Path) -> dict[str, Mapping[str, Any]]:
    """What both files say, by glob or path below `submissions/`. DOMjudge's knows paths only."""
    found: dict[str, Any] = {}
    if (root / YAML).is_file():
        found |= parse_yaml((root / YAML).read_bytes(), YAML) or {}
    for name in JSON:
        found |= _domjudges(root / name, name) if (root / name).is_file() else {}
    wrong = [f"{YAML}: {str(name)[:100]!r} must be a map" for name, item in found.items() if not isinstance(item, Mapping)]
    if wrong:
        raise Invalid("package", wrong)
    return {str(name): item for name, item in found.items()}


def _domjudges(path: Path, name: str) -> dict[str, Any]:
    try:
        said = json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise Invalid("package", [f"{name}: not readable JSON: {error}"]) from error
    items = said.items() if isinstance(said, dict) else ()
    return {
        str(path).removeprefix("submissions/").rstrip("/"): {"language": item.get("langid"), "entrypoint": item.get("entry_point")}
        for path, item in items
        if isinstance(item, Mapping)
    }


def _example(package: Package, root: Path, path: Path, described: Mapping[str, Mapping[str, Any]]) -> Promised:
    name = str(path.relative_to(root))
    files = {path.name: path}
    if path.is_dir():
        files = {str(file.relative_to(path)): file for file in sorted(path.rglob("*")) if file.is_file() and not file.name.startswith(".")}
    matching = {pattern: said for pattern, said in described.items() if glob(pattern.rstrip("/")).fullmatch(name)}
    language = _language(files, matching)
    return Promised(
        name=name,
        source=_source(files, language, matching),
        files=files,
        language=language.id if language else None,
        demands=tuple(demands(package, name, files, matching)),
        accepted=name.startswith("accepted/"),
    )


def demands(package: Package, name: str, files: Mapping[str, Path], matching: Mapping[str, Mapping[str, Any]]) -> list[Demand]:
    """Everything that is demanded of one submission."""
    folder = name.partition("/")[0]
    default = by_folder(folder, new=package.metadata.version.is_new)
    found = [default] if default and folder not in matching else []
    for pattern, said in matching.items():
        base = (default or Demand()) if pattern == folder else Demand()
        found.append(by_map(said, base))
        found += [by_map(item, Demand(), glob(key)) for key, item in said.items() if key not in OWN_KEYS and isinstance(item, Mapping)]
    tags = (by_tag(path.read_bytes()[:SOURCE_BYTES]) for path in files.values())
    return found + [tag for tag in tags if tag][:1]


def _language(files: Mapping[str, Path], matching: Mapping[str, Mapping[str, Any]]) -> Language | None:
    """As described, else by the extensions, if those agree."""
    for said in matching.values():
        code = str(said.get("language") or "").lower()
        for language in TABLE:
            if OTHER_CODES.get(code, code) in {language.id, language.family}:
                return language
    known = {found.family: found for file in files if (found := _by_extension(file))}
    return next(iter(known.values())) if len(known) == 1 else None


def _by_extension(name: str) -> Language | None:
    return next((language for language in TABLE if Path(name).suffix.lower() in language.extensions), None)


def _source(files: Mapping[str, Path], language: Language | None, matching: Mapping[str, Mapping[str, Any]]) -> str:
    for said in matching.values():
        for name in (str(said.get("entrypoint") or ""), f"{said.get('entrypoint')}.java"):
            if name in files:
                return name
    sources = [name for name in files if language and Path(name).suffix.lower() in language.extensions]
    ordered = entry_first(language, sources) if language and sources else ()
    return next(iter(ordered or sorted(sources) or sorted(files)), "")
