"""The whole program, as an operator starts, stops and kills it."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from runners.agent.agent import Settings
from runners.agent.box.hierarchy import find_hierarchy
from runners.agent.box.sweep import sweep
from runners.agent.identity import load_identity
from tests.agent.conftest import GROUPED, SUM, made_package, processes_named, zipped
from tests.agent.icpc import legacy, written
from tests.agent.server import FakeServer

ROOT = Path(__file__).resolve().parents[2]
ACCEPTED = b"print(sum(map(int, input().split())))"
SLOW = b"import time\na = time.process_time()\nwhile time.process_time() - a < .4: pass\nprint(sum(map(int, input().split())))"


@pytest.fixture
def server():
    fake = FakeServer()
    yield fake
    fake.close()


@pytest.fixture
def start(server, tmp_path):
    """`start('one', '--unsafe')`: an agent of that name against the fake server."""
    started, names = [], set()

    def begin(name="one", *options, command=()):
        names.add(name)
        log = (tmp_path / f"{name}.log").open("ab")
        arguments = ["--server", server.url, "--state", str(tmp_path / name), "--name", name, "--wait-seconds", "2", *options]
        started.append(
            subprocess.Popen([*command, sys.executable, "-m", "runners.agent", "run", *arguments], cwd=ROOT, stdout=log, stderr=log)
        )
        log.close()
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()
    # As the next start of an agent of the same state would.
    hierarchy = find_hierarchy()
    for name in names:
        sweep(hierarchy, Settings(server="", state=tmp_path / name, name=name).box().key)


@pytest.fixture
def package(tmp_path):
    """A zip of a package with three tests of 0.4 s of slow programs each."""
    root = made_package(tmp_path / "package", GROUPED, SUM | {"2a": ("5 5\n", "10\n")})
    return zipped(root, tmp_path / "package.zip").read_bytes()


def only_result(server, seconds=30):
    server.until(lambda: server.results, seconds)
    (result,) = server.results.values()
    return result


def ended(process, seconds=15):
    return process.wait(seconds)


@pytest.mark.box
def test_a_job_is_judged_in_the_box_from_claim_to_report(server, start, package):
    server.submit(package, ACCEPTED)
    start()

    result = only_result(server)
    assert (result["verdict"], result["score"], result["maxScore"]) == ("Accepted", 100, 100)
    assert "extra" not in result
    assert {role for _, role, _ in server.attached} == {"log", "details"}
    assert b"standard-io@1" in next(data for _, role, data in server.attached if role == "details")


def test_an_unsafe_agent_says_so_in_every_result_and_on_its_terminal(server, start, package, tmp_path):
    server.submit(package, ACCEPTED)
    start("one", "--unsafe")

    result = only_result(server)
    assert result["verdict"] == "Accepted"
    assert result["extra"] == {"isolated": False}
    assert "WITHOUT isolation" in (tmp_path / "one.log").read_text()


@pytest.mark.box
def test_a_terminated_agent_gives_its_job_back_and_ends_well(server, start, package):
    job = server.submit(package, SLOW)
    agent = start()
    server.until(lambda: server.called("progress"), 20)
    time.sleep(0.3)

    began = time.monotonic()
    agent.send_signal(signal.SIGTERM)

    assert ended(agent) == 0
    assert time.monotonic() - began < 4
    assert server.released == [job]


CONTAINER = ("unshare", "--mount", "--pid", "--ipc", "--uts", "--cgroup", "--fork", "--kill-child", "--mount-proc")
"""What an engine makes around a first process, but for a root of its own."""


@pytest.mark.box
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make namespaces")
def test_the_first_process_of_a_container_gives_its_job_back_and_ends_well(server, start, package):
    job = server.submit(package, SLOW)
    engine = start(command=CONTAINER)
    server.until(lambda: server.called("progress") or engine.poll() is not None, 20)
    time.sleep(0.3)
    (first,) = Path(f"/proc/{engine.pid}/task/{engine.pid}/children").read_text().split()

    os.kill(int(first), signal.SIGTERM)

    assert ended(engine) == 0
    assert server.released == [job]
    assert server.results == {}


def test_an_idle_agent_ends_soon_after_it_is_told(server, start):
    agent = start("one", "--unsafe", "--wait-seconds", "25")
    server.until(lambda: server.called("claim"), 20)
    agent.send_signal(signal.SIGTERM)

    assert ended(agent, 6) == 0


def test_a_second_signal_ends_the_agent_at_once(server, start):
    agent = start("one", "--unsafe", "--wait-seconds", "25")
    server.until(lambda: server.called("claim"), 20)
    agent.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    agent.send_signal(signal.SIGTERM)

    assert ended(agent, 1) == 128 + signal.SIGTERM


@pytest.mark.box
def test_a_job_of_a_killed_agent_is_finished_by_another(server, start, package, tmp_path):
    job = server.submit(package, SLOW)
    agent = start("one")
    server.until(lambda: server.called("progress"), 20)
    time.sleep(0.5)
    agent.send_signal(signal.SIGKILL)
    agent.wait()
    server.reclaim(job)
    start("two")

    result = only_result(server)
    assert (result["jobId"], result["verdict"]) == (job, "Accepted")
    assert not server.released


@pytest.mark.slow
def test_two_agents_that_evict_each_others_packages_judge_rightly(server, start, tmp_path):
    """There is room for one package, and there are three: each is thrown out while another agent may be reading it."""
    package = {}
    for number in range(3):
        root = made_package(tmp_path / f"p{number}", GROUPED, {"1a": ("1 2\n", f"{number}\n"), "2a": ("5 5\n", f"{number}\n")})
        package[number] = zipped(root, tmp_path / f"{number}.zip").read_bytes()
    wanted = {}
    for job in range(12):
        said = (job // 3) % 3
        wanted[server.submit(package[job % 3], f"print({said})".encode())] = "Accepted" if said == job % 3 else "Wrong answer"
    for name in ("one", "two"):
        start(name, "--unsafe", "--cache", str(tmp_path / "shared"), "--cache-bytes", "1")
    server.until(lambda: len(server.results) == len(wanted), 60)

    assert {result["jobId"]: result["verdict"] for result in server.results.values()} == wanted
    assert "Traceback" not in (tmp_path / "one.log").read_text() + (tmp_path / "two.log").read_text()


def test_an_icpc_package_is_judged_from_claim_to_report(server, start, tmp_path):
    root = written(tmp_path / "icpc", legacy())
    server.submit(zipped(root, tmp_path / "icpc.zip").read_bytes(), ACCEPTED, problemType="icpc@1")
    start("one", "--unsafe")

    result = only_result(server)
    assert (result["verdict"], result["score"], result["maxScore"], result["props"]["type"]) == ("Accepted", 1, 1, "icpc@1")
    assert {"icpc@1", "standard-io@1", "output-only@1"} <= set(next(iter(server.runners.values()))["body"]["problemTypes"])


def test_a_revoked_agent_says_why_and_stops_with_a_code_of_its_own(server, start, tmp_path):
    agent = start("one", "--unsafe")
    server.until(lambda: server.called("claim"), 20)
    server.revoke()
    server.end_waits()

    assert ended(agent) == 3
    assert "revoked" in (tmp_path / "one.log").read_text()


def test_an_agent_killed_while_it_made_its_key_starts_again_under_the_same_number(tmp_path):
    (tmp_path / f"key.{os.getpid()}").write_bytes(b"half")

    assert len(load_identity(tmp_path / "key").fingerprint) == 64
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_two_agents_cannot_share_a_state(server, start, tmp_path):
    start("one", "--unsafe")
    server.until(lambda: server.called("claim"), 20)
    second = start("one", "--unsafe")

    assert ended(second) == 2
    assert "another agent uses" in (tmp_path / "one.log").read_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--workers", "999"), "--workers 999"),
        (("--workers", "0"), "--workers 0"),
        (("--transport", "channel"), "channel"),
        (("--server", "judge"), "no URL"),
    ],
)
def test_what_cannot_work_is_refused_with_reason_and_remedy(start, tmp_path, options, said):
    agent = start("one", "--unsafe", *options)

    assert ended(agent) == 2
    log = (tmp_path / "one.log").read_text()
    assert said in log
    assert "Remedy: " in log


@pytest.mark.box
def test_without_bubblewrap_the_agent_refuses_instead_of_judging_unsafely(server, tmp_path):
    """A PATH is not asked: the look-up is made to find nothing."""
    code = (
        "import sys, runners.agent.box as box\n"
        "found = box.found\n"
        "def without(program, remedy): return found('no-such-' + program if program == 'bwrap' else program, remedy)\n"
        "box.found = without\n"
        "from runners.agent.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    arguments = ["run", "--server", server.url, "--state", str(tmp_path / "s")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)

    assert done.returncode == 2
    assert "is not installed" in done.stderr
    assert "Remedy: apt-get install bubblewrap" in done.stderr
    assert not server.calls


def _cli(*arguments, command=()):
    line = [*command, sys.executable, "-m", "runners.agent", *arguments]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.box
@pytest.mark.slow
def test_the_doctor_finds_this_machine_fit(tmp_path):
    done = _cli("doctor")

    assert done.returncode == 0, done.stdout
    assert "BAD" not in done.stdout
    assert "language python3: works" in done.stdout
    assert "ms a start" in done.stdout


def test_the_doctor_names_the_remedy_for_what_is_missing():
    from runners.agent.doctor import Finding

    assert str(Finding("box", False, "no bwrap", "install it")) == "BAD  box: no bwrap\n      remedy: install it"


@pytest.fixture
def verified(tmp_path):
    """A package with submissions that keep their promises."""
    return made_package(
        tmp_path / "verified",
        GROUPED,
        SUM | {"2a": ("5 5\n", "10\n")},
        {
            "submissions/accepted/a.py": ACCEPTED.decode(),
            "submissions/wrong_answer/b.py": "print(0)",
            "submissions/run_time_error/c.py": "exit(1)",
        },
    )


@pytest.mark.box
def test_a_package_whose_submissions_keep_their_promises_is_verified(verified, tmp_path):
    done = _cli("verify", str(zipped(verified, tmp_path / "v.zip")))

    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 as promised, 0 not" in done.stdout


@pytest.mark.box
def test_a_promise_not_kept_is_named_and_fails(verified):
    (verified / "submissions" / "accepted" / "d.py").write_text("print(1)")
    done = _cli("verify", str(verified))

    assert done.returncode == 1
    assert "BAD  accepted/d.py: Wrong answer" in done.stdout


def test_an_invalid_package_is_refused_with_every_fault(tmp_path):
    root = made_package(tmp_path / "bad", "limits: {}\ncolour: red\ngroups: []\n", {})
    done = _cli("verify", "--unsafe", str(root))

    assert done.returncode == 1
    assert len(done.stdout.splitlines()) >= 4


USER = 64321
NEEDED_BY_THE_AGENT = (
    *("yaml", "rich", "httpx", "httpcore", "h11", "anyio", "idna", "certifi", "pygments", "markdown_it", "mdurl"),
    *("cryptography", "cffi", "_cffi_backend*.so", "typing_extensions.py", "websockets"),
)
needs_root = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root, to become somebody else")


@pytest.fixture
def anybody(tmp_path):
    """How to run as an unprivileged user whose administrator prepared control groups; on v1 only."""
    from runners.agent.box.cgroup1 import Hierarchy1
    from runners.agent.box.hierarchy import find_hierarchy

    hierarchy = find_hierarchy(f"assize-test-{os.getpid()}")
    if not isinstance(hierarchy, Hierarchy1):
        pytest.skip("on cgroup v2 an unprivileged user needs a delegated group, which systemd makes")
    hierarchy.prepare()
    for folder in hierarchy.parents().values():
        for path in (folder, *folder.iterdir()):
            with contextlib.suppress(OSError):
                os.chown(path, USER, USER)
    command = ("setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", "--")
    yield command, hierarchy.parent
    for folder in hierarchy.parents().values():
        folder.rmdir()


@pytest.fixture
def readable():
    """A copy of the agent that everybody may read, with a Python that everybody may run."""
    python = shutil.which("python3", path="/usr/bin")
    place = Path("/tmp") / f"assize-agent-test-{os.getpid()}"
    shutil.copytree(ROOT / "runners" / "agent", place / "runners" / "agent", ignore=shutil.ignore_patterns("__pycache__"))
    (place / "runners" / "__init__.py").touch()
    libraries = Path(yaml.__file__).parents[1]
    for name in NEEDED_BY_THE_AGENT:
        for source in libraries.glob(name):
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, place / source.name)
    state = place / "state"
    state.mkdir()
    os.chown(state, USER, USER)
    yield place, python
    shutil.rmtree(place)


@pytest.mark.box
@needs_root
def test_an_unprivileged_agent_judges_as_well(server, package, anybody, readable, tmp_path):
    command, cgroup = anybody
    place, python = readable
    server.submit(package, ACCEPTED)
    arguments = ["run", "--server", server.url, "--state", str(place / "state"), "--cgroup", cgroup, "--wait-seconds", "1"]
    line = [*command, python, "-m", "runners.agent", *arguments]
    agent = subprocess.Popen(line, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={"PATH": "/usr/bin"})
    try:
        server.until(lambda: server.results or agent.poll() is not None, 30)
        agent.send_signal(signal.SIGTERM)
        said = agent.communicate(timeout=15)[0].decode()
    finally:
        agent.kill()
        agent.wait()

    assert agent.returncode == 0, said
    assert only_result(server)["verdict"] == "Accepted", said


def test_no_process_of_a_box_is_left_by_all_this():
    assert processes_named(f"t{os.getpid()}") == []
