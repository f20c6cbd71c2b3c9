"""A real box for the tests that need one, and packages to judge."""

import contextlib
import os
import shutil
import zipfile
from pathlib import Path

import pytest

from runners.agent.blob import Blob
from runners.agent.box import BoxSettings, Command, Limits, open_box
from runners.agent.cache import Cache
from runners.agent.judgement import Submission
from runners.agent.jury import Bench
from runners.agent.languages import find_toolchains
from runners.agent.standard_io.judge import Judge
from runners.agent.standard_io.package import read_package

PLAIN = "limits: {timeMs: 1000, memoryBytes: 67108864}\ngroups:\n- {group: 1, points: 100}\n"
GROUPED = "limits: {timeMs: 2000, memoryBytes: 134217728}\ngroups:\n- {group: 1, points: 40, examples: true}\n- {group: 2, points: 60}\n"
SUM = {"1a": ("1 2\n", "3\n"), "1b": ("20 22\n", "42\n")}


def never() -> bool:
    """Nobody cancels this run."""
    return False


@pytest.fixture(scope="session")
def toolchains():
    return find_toolchains()


@pytest.fixture(scope="session")
def isolated_box(tmp_path_factory):
    """One proven box for the whole run."""
    return open_box(BoxSettings(tmp_path_factory.mktemp("box") / "scratch", f"t{os.getpid()}"))


@pytest.fixture
def box(isolated_box):
    """The box, and the proof that a test left nothing in it: no group, and no process of its uid."""
    yield isolated_box
    assert isolated_box.hierarchy.leftovers(f"{isolated_box.key}.") == []
    assert processes_named(isolated_box.key) == []


def processes_named(key):
    """bwrap processes of a box by the mark on their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if f"--hostname\0{key}.".encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


@pytest.fixture
def run(box):
    """`run(code)`: a Python program in the box; its outcome with `text` and closed blobs."""
    return lambda code, **how: ran(box, ("/usr/bin/python3", "-c", code), **how)


class Ran:
    """An outcome that is easy to ask."""

    def __init__(self, outcome):
        self.ended, self.status, self.cpu_ms, self.wall_ms = outcome.ended, outcome.status, outcome.cpu_ms, outcome.wall_ms
        self.text = outcome.stdout.read().decode(errors="replace")
        self.bytes, self.errors = outcome.stdout.size, outcome.stderr.decode(errors="replace")
        self.kept = {name: blob.read() for name, blob in outcome.kept.items()}
        outcome.close()


def ran(box, argv, *, cpu_ms=1000, memory=64 << 20, output=1 << 20, cancelled=never, **how):
    """Run in a box, stdin given as bytes."""
    if isinstance(how.get("stdin"), bytes):
        how["stdin"] = Blob.of(how["stdin"])
    return Ran(box.run(Command(tuple(argv), Limits(cpu_ms, memory, output), **how), cancelled))


@pytest.fixture
def package(tmp_path):
    """`package(config, tests, files)`: an unpacked package."""
    return lambda config=PLAIN, tests=SUM, files=None: made_package(tmp_path / "package", config, tests, files or {})


def made_package(root, config=PLAIN, tests=SUM, files=()):
    """Write a package's folder anew."""
    shutil.rmtree(root, ignore_errors=True)
    content = {"config.yml": config} | dict(files)
    for name, (given, answer) in tests.items():
        content |= {f"tests/{name}.in": given} | ({f"tests/{name}.out": answer} if answer is not None else {})
    for name, text in content.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def zipped(root, target):
    """The package's folder as a zip."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(root))
    return target


@pytest.fixture
def judge(box, toolchains, tmp_path):
    """`judge(folder, language, name, source, config)`: the judgement of a submission in the real box."""
    bench = Bench(box, toolchains, Cache(tmp_path / "cache").open())

    def judged(folder, language, name, source, config=None, *, cancelled=never):
        source = source if isinstance(source, bytes) else source.encode()
        blob = Blob.of(source)
        try:
            return Judge(box, toolchains, bench, cancelled).judge(read_package(folder), config or {}, Submission(blob, name, language))
        finally:
            blob.close()

    return judged
