"""The benchmark runs, in its smallest size, and what it says makes sense. That it is fast is not for a test to say."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

PROJECT = Path(__file__).resolve().parents[2]
DATABASES = "SELECT count(*) FROM pg_database WHERE datname LIKE 'assize_bench%'"

pytestmark = pytest.mark.slow


def environment():
    """As for an installation on the embedded database, not as for a test run."""
    ours = {name: value for name, value in os.environ.items() if name not in ("ASSIZE_TESTING", "DJANGO_SETTINGS_MODULE")}
    return {**ours, "ASSIZE_EMBEDDED": "1"}


def bench(*arguments):
    """Run the command to its end."""
    command = [sys.executable, "manage.py", "bench", *arguments]
    return subprocess.run(command, cwd=PROJECT, env=environment(), capture_output=True, text=True, timeout=280, check=False)


def databases_left():
    """How many scratch databases there are on the server."""
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as server:
        ((count,),) = server.execute(DATABASES).fetchall()
        return count


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the JSON of all scenarios but the claims' many cases says."""
    file = tmp_path_factory.mktemp("bench") / "figures.json"
    names = ("pairs", "waits", "channels", "retag", "enqueue", "threads", "reaper", "audit", "verbs")
    done = bench(*names, "--small", "--json", str(file))
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(file.read_text())


def figures(told, scenario):
    """The figures of one scenario by their case."""
    return {figure["case"]: figure for figure in told["figures"] if figure["scenario"] == scenario}


@pytest.mark.timeout(300)
def test_every_figure_says_what_it_compares(told):
    assert told["machine"]["cores"] >= 1
    assert told["machine"]["PostgreSQL"]
    for figure in told["figures"]:
        assert figure["ours"][1] <= figure["ours"][0] <= figure["ours"][2], figure
        if "floor" in figure:
            assert figure["ratio"] == pytest.approx(figure["ours"][0] / figure["floor"][0]), figure


@pytest.mark.timeout(300)
def test_no_parked_runner_loses_work_and_none_gets_anothers(told):
    waits = figures(told, "waits")

    assert waits["60 parked: lost"]["ratio"] == 0
    assert waits["60 parked: doubled"]["ratio"] == 0
    assert waits["60 parked: connections held"]["met"]


@pytest.mark.timeout(300)
def test_work_for_one_channel_is_told_to_it_and_to_no_other(told):
    channels = figures(told, "channels")

    assert channels["60 channels: lost"]["ratio"] == 0
    assert channels["60 channels: told to others"]["ratio"] == 0
    assert channels["60 channels: connections held"]["met"]


@pytest.mark.timeout(300)
def test_the_audit_proves_what_the_load_left(told):
    proofs = [figure["note"] for figure in told["figures"] if "explain the tables" in figure["note"]]

    assert len(proofs) == 2


@pytest.mark.timeout(300)
def test_lapsed_leases_are_all_given_back(told):
    (sweep,) = (figure for case, figure in figures(told, "reaper").items() if "lapsed" in case)

    assert sweep["note"].startswith("120 returned, 0 given up")


@pytest.mark.timeout(300)
def test_nothing_is_left_on_the_server(told):
    assert databases_left() == 0


@pytest.mark.timeout(300)
def test_a_benchmark_that_fails_leaves_nothing_either():
    failing = (
        "import django; django.setup()\n"
        "from judging.bench.scratch import scratch_database\n"
        "with scratch_database(durable=False):\n    1 / 0"
    )
    env = {**environment(), "DJANGO_SETTINGS_MODULE": "config.settings"}

    done = subprocess.run([sys.executable, "-c", failing], cwd=PROJECT, env=env, capture_output=True, text=True, timeout=120, check=False)

    assert "ZeroDivisionError" in done.stderr
    assert databases_left() == 0


@pytest.mark.timeout(120)
def test_an_unknown_scenario_is_named_and_refused():
    done = bench("speed")

    assert done.returncode != 0
    assert "No such scenario: speed" in done.stderr
