"""From sources to programs: compiled in the same box as everything else, under limits of their own (runner-agent §3.6)."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from runners.agent.blob import Blob, holding
from runners.agent.box import Box, Cancelled, Command, Ended, Limits, Outcome
from runners.agent.box.artefacts import BadArtefact
from runners.agent.languages import Language, Toolchains
from runners.agent.printable import printable

COMPILE = Limits(cpu_ms=60_000, memory_bytes=2 << 30, output_bytes=512 << 20)
PROGRAM_BYTES = 256 << 20
LOG_CHARACTERS = 64 << 10
ENVIRON = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
JAR = "main.jar"
RUN = "run"
SCRIPT = Language("script", "script", (), compile=("./build",), keep="program", run=("./{program}",))
"""No language, but a program that says itself how it is built and run."""

STOPPED = {
    Ended.CPU: "the compiler took too long",
    Ended.IDLE: "the compiler took too long",
    Ended.STARVED: "the compiler took too long",
    Ended.MEMORY: "the compiler used too much memory",
    Ended.OUTPUT: "the compiler wrote too much",
}


@dataclass(frozen=True, slots=True)
class Program:
    """Something that can be started. Whoever made it closes it."""

    language: Language
    files: Mapping[str, Blob]
    entry: str
    """The file of `files` that is started."""

    main: str = ""
    """The main class, for languages that have one."""

    def command(self, toolchains: Toolchains, memory_bytes: int) -> tuple[str, ...]:
        return toolchains.command(self.language.run, program=self.entry, main=self.main, memory=memory_bytes)

    def close(self) -> None:
        for blob in self.files.values():
            blob.close()

    def save(self, folder: Path) -> None:
        """Write it to an empty folder, for `load`."""
        for number, (name, blob) in enumerate(self.files.items()):
            (folder / str(number)).write_bytes(blob.read())
            (folder / f"{number}.name").write_text(name)
        (folder / "program.json").write_text(json.dumps({"entry": self.entry, "main": self.main, "files": len(self.files)}))

    @classmethod
    def load(cls, folder: Path, language: Language) -> Program:
        said = json.loads((folder / "program.json").read_text())
        files = {(folder / f"{n}.name").read_text(): Blob.of_file(folder / str(n)) for n in range(said["files"])}
        return cls(language, files, said["entry"], said["main"])


@dataclass(frozen=True, slots=True)
class Built:
    """The end of a compilation: a program, or none and a log that says why."""

    program: Program | None
    log: str


@dataclass(frozen=True, slots=True)
class Source:
    """Files to compile. `name` is the one to start from; all blobs stay the caller's to close."""

    name: str
    files: Mapping[str, Blob]
    others: tuple[str, ...] = ()
    """Compiled together with it."""


def source_name(said: str, language: Language) -> str:
    """What a submission is called inside the box: as its author called it when that is a harmless name."""
    name = PurePosixPath(said.replace("\\", "/")).name
    harmless = name not in {"", ".", ".."} and len(name.encode("utf-8", "replace")) <= 255
    if harmless and not re.search(r"[\x00-\x1f\x7f\ud800-\udfff]", name):
        return name
    return f"main{language.extensions[0]}"


def build(box: Box, toolchains: Toolchains, language: Language, source: Source, cancelled: Cancelled) -> Built:
    """Compile. The program's blobs are the caller's to close."""
    if language == SCRIPT:
        return _build_by_script(box, source, cancelled)
    argv = toolchains.command(_with_all(language.compile, source), source=f"./{source.name}")
    command = Command(argv, COMPILE, files=source.files, environ=ENVIRON, keep=language.keep, keep_bytes=PROGRAM_BYTES)
    try:
        outcome = box.run(command, cancelled)
    except BadArtefact as refused:
        return Built(None, f"The compiler left no program that can be taken: {refused}.")
    with holding(outcome.stdout):
        log = _log(outcome)
        if outcome.ended is not Ended.EXITED or outcome.status != 0:
            return Built(None, log)
        return _built(language, source, outcome.kept, log)


def _with_all(words: tuple[str, ...], source: Source) -> tuple[str, ...]:
    """A compiler's command with the further sources right behind the first: libraries must follow them all."""
    at = words.index("{source}") + 1
    # Braces in a name are not placeholders.
    others = tuple(f"./{name}".replace("{", "{{").replace("}", "}}") for name in source.others)
    return (*words[:at], *others, *words[at:])


def _build_by_script(box: Box, source: Source, cancelled: Cancelled) -> Built:
    """A program that brings its own `build`, which leaves a `run`; or only a `run`."""
    if not source.name:
        return Built(Program(SCRIPT, {name: Blob.of(blob.read()) for name, blob in source.files.items()}, RUN), "")
    copies = {f"{SCRIPT.keep}/{name}": blob for name, blob in source.files.items()}
    argv = ("/bin/sh", "-c", f"cd {SCRIPT.keep} && ./{source.name}")
    command = Command(argv, COMPILE, copies=copies, environ=ENVIRON, keep=SCRIPT.keep, keep_bytes=PROGRAM_BYTES)
    try:
        outcome = box.run(command, cancelled)
    except BadArtefact as refused:
        return Built(None, f"The build script left something that cannot be taken: {refused}.")
    with holding(outcome.stdout):
        log = _log(outcome)
    kept = {name.removeprefix(f"{SCRIPT.keep}/"): blob for name, blob in outcome.kept.items()}
    program = Program(SCRIPT, kept, RUN)
    if RUN in kept:
        return Built(program, log)
    program.close()
    return Built(None, log or "its build script left no `run`")


def _log(outcome: Outcome) -> str:
    said = printable(outcome.stderr + outcome.stdout.read(LOG_CHARACTERS), LOG_CHARACTERS)
    return f"{STOPPED[outcome.ended]}\n{said}" if outcome.ended in STOPPED else said


def _built(language: Language, source: Source, kept: Mapping[str, Blob], log: str) -> Built:
    if language.keep is None:
        files = {name: Blob.of(blob.read()) for name, blob in source.files.items()}
        return Built(Program(language, files, f"./{source.name}"), log)
    if language.family != "java":
        return Built(Program(language, kept, language.keep), log)
    with holding(*kept.values()):
        classes = {name.removeprefix(f"{language.keep}/"): blob.read() for name, blob in kept.items()}
    main = main_class(classes, PurePosixPath(source.name).stem)
    if main is None:
        return Built(None, f"{log}\nno class has a main method".strip())
    return Built(Program(language, {JAR: Blob.of(jar(classes))}, JAR, main), log)


def main_class(classes: Mapping[str, bytes], stem: str) -> str | None:
    """The class to start: the one called like the source, else `Main`, else the first that has a main method."""
    able = [name.removesuffix(".class") for name in sorted(classes) if _has_main(classes[name])]
    for wanted in (stem, "Main"):
        for name in able:
            if PurePosixPath(name).name == wanted:
                return name.replace("/", ".")
    return able[0].replace("/", ".") if able else None


def _has_main(code: bytes) -> bool:
    """Both constants of `main(String[])` are in the class file's pool: a length in two bytes, then the text."""
    return b"\x00\x04main" in code and b"\x00\x16([Ljava/lang/String;)V" in code


def jar(classes: Mapping[str, bytes]) -> bytes:
    """One file instead of many, so that a start costs the same for any number of classes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, code in sorted(classes.items()):
            archive.writestr(zipfile.ZipInfo(name), code)
    return buffer.getvalue()
