"""Programs that mean harm, each with the verdict it must get, and the proof that nothing outside changed and nothing is left.

Every program gets the input `1 2` and should say `3`; one whose attack went well says something else. What a
program wants to get is in its first line.
"""

import json
import os
import re
import shutil
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from runners.agent import programs
from runners.agent.box import UNPRIVILEGED_UID
from runners.agent.errors import InfrastructureFailure
from tests.agent.conftest import GROUPED, SUM
from tests.agent.test_program import anybody, needs_root, readable

__all__ = ["anybody", "readable"]
FOLDER = Path(__file__).parent / "adversaries"
PROGRAMS = sorted(path for path in FOLDER.iterdir() if path.suffix in {".py", ".c", ".cpp"})
LANGUAGES = {".py": "python3", ".c": "c", ".cpp": "cpp17"}
CONFIG = "limits: {timeMs: 400, memoryBytes: 67108864, outputBytes: 1048576}\ngroups: [{group: 1, points: 1}]\n"
TEST = {"1a": ("1 2\n", "3\n")}
QUICK = replace(programs.COMPILE, cpu_ms=5000, memory_bytes=256 << 20)
IDLE = {"sleeper.py", "opener_of_a_fifo.py"}
pytestmark = pytest.mark.box


def wanted(path):
    """The verdicts that are right for a program."""
    said = re.match(r"(?://|#) wants: (.*)", path.read_text())
    assert said, f"{path.name} does not say what it wants"
    return set(said[1].split(" | "))


def outside():
    """What a program must not have changed: the machine's names, mounts, shared memory, and who runs there."""
    return {
        "hostname": os.uname().nodename,
        "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
        "shared": sorted(path.name for path in Path("/dev/shm").iterdir() if path.stat().st_uid == UNPRIVILEGED_UID),
        "segments": [line for line in Path("/proc/sysvipc/shm").read_text().splitlines() if f" {UNPRIVILEGED_UID} " in line],
        "files": sorted(path.name for path in Path("/tmp").iterdir() if path.lstat().st_uid == UNPRIVILEGED_UID),
        "core_pattern": Path("/proc/sys/kernel/core_pattern").read_text(),
    }


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_an_adversary_gets_its_verdict_and_leaves_nothing(package, judge, monkeypatch, path):
    monkeypatch.setattr(programs, "COMPILE", QUICK)
    if path.name in IDLE:
        monkeypatch.setattr("runners.agent.box.run.WALL_MS", 400)
    before = outside()

    judgement = judge(package(CONFIG, TEST), LANGUAGES[path.suffix], path.name, path.read_bytes())

    assert judgement.verdict in wanted(path), judgement
    assert outside() == before
    assert "root:" not in judgement.compiler_log
    assert len(judgement.compiler_log) <= 64 << 10


AS_ANYBODY = """
import json, sys
from dataclasses import replace
from pathlib import Path
from runners.agent import programs
from runners.agent.blob import Blob, holding
from runners.agent.box import BoxSettings, open_box
from runners.agent.cache import Cache
from runners.agent.judgement import Submission
from runners.agent.jury import Bench
from runners.agent.languages import find_toolchains
from runners.agent.standard_io.judge import Judge
from runners.agent.standard_io.package import read_package
state, cgroup, languages = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
programs.COMPILE = replace(programs.COMPILE, cpu_ms=5000, memory_bytes=256 << 20)
box, toolchains = open_box(BoxSettings(state / "scratch", "u", cgroup=cgroup)), find_toolchains()
judge = Judge(box, toolchains, Bench(box, toolchains, Cache(state / "cache").open()), lambda: False)
for path in sorted(Path("adversaries").iterdir()):
    source = Blob.of_file(path)
    with holding(source):
        judgement = judge.judge(read_package(Path("package")), {}, Submission(source, path.name, languages[path.suffix]))
    left = len(box.hierarchy.leftovers("u."))
    print(json.dumps([path.name, str(judgement.verdict), left]), flush=True)
"""


@pytest.mark.slow
@needs_root
@pytest.mark.timeout(300)
def test_all_adversaries_get_their_verdicts_of_an_unprivileged_agent_too(package, anybody, readable):
    command, cgroup = anybody
    place, python = readable
    shutil.copytree(package(CONFIG, TEST), place / "package")
    shutil.copytree(FOLDER, place / "adversaries", ignore=shutil.ignore_patterns("__pycache__"))
    arguments = [str(place / "state"), cgroup, json.dumps(LANGUAGES)]
    line = [*command, python, "-c", AS_ANYBODY, *arguments]
    done = subprocess.run(line, cwd=place, capture_output=True, text=True, timeout=290, check=False, env={"PATH": "/usr/bin"})

    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for name, _, _ in said] == [path.name for path in PROGRAMS]
    assert [(name, verdict) for name, verdict, _ in said if verdict not in wanted(FOLDER / name)] == []
    assert [name for name, _, left in said if left] == []


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(3))
def test_four_burners_beside_a_program_at_half_its_limit_never_make_it_late(package, judge, attempt):
    burners = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) for _ in range(4)]
    source = "import time\nwhile time.process_time() < .5: pass\nprint(sum(map(int, input().split())))"
    root = package(GROUPED.replace("timeMs: 2000", "timeMs: 1000"), SUM | {"2a": ("5 5\n", "10\n")})
    try:
        said = str(judge(root, "python3", "a.py", source).verdict)
    except InfrastructureFailure as failure:
        said = str(failure)
    finally:
        for burner in burners:
            burner.send_signal(signal.SIGKILL)
            burner.wait()

    assert said == "Accepted" or said.startswith("machine overloaded")
