"""The languages this runner judges: one table of ids and families, and which of them this machine has.

Times are the same for all: an assignment that wants to give a slow language more says so itself, in
`overrideLimits`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

SEARCHED = "/usr/local/bin:/usr/bin:/bin"
SEEN_INSIDE = ("/usr/",)
"""Tools that live elsewhere cannot be seen from inside the box, and so are not there."""


@dataclass(frozen=True, slots=True)
class Language:
    """How sources of one language become a program and how it is started.

    Placeholders: `{source}` the source's `./name`; `{program}` the artefact; `{main}` the main class;
    `{memory}` the memory limit in bytes. The first word of a command is looked up among the tools.
    """

    id: str
    family: str
    extensions: tuple[str, ...]
    compile: tuple[str, ...]
    keep: str | None
    """What the compiler leaves, a file or a folder; None when the source itself is the program."""

    run: tuple[str, ...]
    crash_sign: bytes = b"\0"
    """What stderr holds when a program died of its own error yet exited with 1: then it did not refuse anything."""

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(word for word in (self.compile[0], self.run[0]) if not word.startswith(("./", "{")))


def _c(identifier: str, standard: str) -> Language:
    return _gcc(identifier, "c", "gcc", standard, (".c",))


def _cpp(identifier: str, standard: str) -> Language:
    return _gcc(identifier, "cpp", "g++", standard, (".cpp", ".cc", ".cxx", ".c++", ".cp"))


def _gcc(identifier: str, family: str, compiler: str, standard: str, extensions: tuple[str, ...]) -> Language:
    command = (compiler, f"-std={standard}", "-O2", "-pipe", "-fdiagnostics-color=never", "-o", "main", "{source}", "-lm")
    return Language(identifier, family, extensions, compile=command, keep="main", run=("./{program}",))


JAVA_RUN = ("java", "-Xmx{memory}", "-Xss64m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-cp", "{program}", "{main}")
"""A heap as large as the whole limit: a program that outgrows it is killed by the kernel, which is the one sign of too much memory."""

# The first of a family is the one a source without a language is taken for.
TABLE: tuple[Language, ...] = (
    *(_c(identifier, standard) for identifier, standard in (("c", "gnu17"), ("c11", "gnu11"), ("c17", "gnu17"))),
    _cpp("cpp", "gnu++17"),
    *(_cpp(f"cpp{year}", f"gnu++{year}") for year in ("11", "14", "17", "20")),
    Language(
        *("python3", "python", (".py", ".py3")),
        compile=("python3", "-m", "py_compile", "{source}"),
        keep=None,
        run=("python3", "{program}"),
        crash_sign=b"Traceback (most recent call last)",
    ),
    Language(
        *("java", "java", (".java",)),
        compile=("javac", "-encoding", "UTF-8", "-J-XX:-UsePerfData", "-J-XX:+UseSerialGC", "-d", "classes", "{source}"),
        keep="classes",
        run=JAVA_RUN,
        crash_sign=b'Exception in thread "main"',
    ),
    Language(
        *("javascript", "javascript", (".js", ".mjs")),
        compile=("node", "--check", "{source}"),
        keep=None,
        run=("node", "{program}"),
        crash_sign=b"Node.js v",
    ),
)


@dataclass(frozen=True, slots=True)
class Toolchains:
    """The languages of the table whose tools are on this machine."""

    languages: Mapping[str, Language]
    paths: Mapping[str, str]
    """Where each tool is."""

    def command(self, words: Iterable[str], **values: object) -> tuple[str, ...]:
        """A command of the table with its placeholders filled and its tool found."""
        first, *rest = words
        return tuple(word.format(**values) for word in (self.paths.get(first, first), *rest))

    def by_extension(self, name: str) -> Language | None:
        """For sources that come without a language, as in a package's `submissions/`."""
        suffix = Path(name).suffix.lower()
        return next((language for language in self.languages.values() if suffix in language.extensions), None)


def find_toolchains(table: Iterable[Language] = TABLE, searched: str = SEARCHED) -> Toolchains:
    """Look the tools up. A language with one missing is unknown on this machine."""
    table = tuple(table)
    paths = {tool: path for language in table for tool in language.tools if (path := tool_path(tool, searched))}
    languages = {language.id: language for language in table if all(tool in paths for tool in language.tools)}
    return Toolchains(languages, paths)


def tool_path(tool: str, searched: str = SEARCHED) -> str | None:
    """Where the tool is, if what its links lead to can be seen from inside the box."""
    path = shutil.which(tool, path=searched)
    return path if path and str(Path(path).resolve()).startswith(SEEN_INSIDE) else None
