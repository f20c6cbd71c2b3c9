"""The house's rules that a machine can check (architecture.md §1, style.md)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
# What each package may import of ours. The agent is a program of its own.
MAY_IMPORT = {
    "runners/agent": {"runners.agent"},
    "runners": {"runners"},
    "judging": {"judging", "runners"},
    "contests": {"contests", "judging", "runners"},
    "config": {"config", "contests", "judging", "runners"},
}
OURS = {"config", "contests", "judging", "runners"}
NOT_FOR_THE_AGENT = {"django", "rest_framework", "channels", "psycopg"}
NAMELESS = {"util", "utils", "helper", "helpers", "manager", "managers", "service", "services", "handler", "handlers", "common", "misc"}
LONGEST_FUNCTION = 40

SOURCES = sorted(path for name in OURS for path in (PROJECT / name).rglob("*.py") if "migrations" not in path.relative_to(PROJECT).parts)


def package_of(path: Path, *, project: Path = PROJECT) -> str:
    """The entry of MAY_IMPORT a file falls under: the longest that fits."""
    place = path.relative_to(project).as_posix()
    return max((name for name in MAY_IMPORT if place.startswith(f"{name}/")), key=len)


def imports(path: Path, *, project: Path = PROJECT) -> Iterator[str]:
    """The full names of all modules a file imports, wherever in it."""
    package = path.relative_to(project).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            # `from runners import agent` names the module only in its second half.
            yield from (f"{module}.{name.name}" for name in node.names)


def forbidden_imports(path: Path, *, project: Path = PROJECT) -> list[str]:
    """Imports against the arrows."""
    allowed = MAY_IMPORT[package_of(path, project=project)]
    return [
        name
        for name in imports(path, project=project)
        if name.split(".")[0] in OURS and not any(f"{name}.".startswith(f"{ours}.") for ours in allowed)
    ]


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function in a file, inner ones included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def names(path: Path) -> Iterator[str]:
    """The words of a file's path and of the classes and functions in it, in lower case."""
    for part in path.relative_to(PROJECT).with_suffix("").parts:
        yield from part.split("_")
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            split = "".join(f" {letter}" if letter.isupper() else letter for letter in node.name)
            yield split.split()[-1].lower() if split.split() else ""
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from node.name.strip("_").split("_")


def test_the_sources_are_found():
    assert {package_of(path) for path in SOURCES} >= OURS


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PROJECT).as_posix())
def test_imports_follow_the_arrows(path):
    assert forbidden_imports(path) == []


def test_the_agent_needs_nothing_of_the_server():
    met = {name.split(".")[0] for path in SOURCES if package_of(path) == "runners/agent" for name in imports(path)}

    assert met & NOT_FOR_THE_AGENT == set()


def test_an_import_against_the_arrows_is_seen(tmp_path):
    stray = tmp_path / "runners" / "stray.py"
    stray.parent.mkdir()
    stray.write_text("def late():\n    from judging import queue\n    import contests.models\n    from runners.agent import loop\n")

    assert forbidden_imports(stray, project=tmp_path) == ["judging.queue", "contests.models"]


def test_no_function_is_longer_than_a_screen():
    long = [
        f"{path.relative_to(PROJECT)}:{function.lineno} {function.name}"
        for path in SOURCES
        for function in functions(path)
        if (function.end_lineno or 0) - function.lineno + 1 > LONGEST_FUNCTION
    ]

    assert long == []


def test_names_say_what_things_do():
    assert [(str(path.relative_to(PROJECT)), word) for path in SOURCES for word in names(path) if word in NAMELESS] == []


def test_nothing_happens_by_signal():
    met = [
        (str(path.relative_to(PROJECT)), name)
        for path in SOURCES
        for name in imports(path)
        if name.startswith(("django.dispatch", "django.db.models.signals", "django.core.signals"))
    ]

    assert met == []
