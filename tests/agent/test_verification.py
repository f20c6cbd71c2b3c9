"""A problem version verified by a real agent of the pool, from the admin's button to the page that says what was found."""

import os
import subprocess
import sys

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from config import launch
from judging import queue
from judging.models import Verification
from runners.agent.agent import Settings
from runners.agent.box.hierarchy import find_hierarchy
from runners.agent.box.sweep import sweep
from runners.models import Runner
from tests import factories
from tests.admin.reading import words
from tests.agent.conftest import zipped
from tests.agent.icpc import ADD, legacy, written
from tests.channel.conftest import serving, until

WRONG_THEN_SLOW = "a, b = map(int, input().split())\nif a == 20: print(0)\nelse:\n    while a == 5: pass\n    print(a + b)\n"
JURY = {
    # Started from its first file by name, which needs the one beside it.
    "submissions/accepted/parted/main.py": "from parts.add import add\nadd()\n",
    "submissions/accepted/parted/parts/add.py": "def add():\n    " + ADD,
    "submissions/wrong_answer/zero.cpp": '#include <cstdio>\nint main() { puts("0"); }\n',
    # Refused at one test and too slow at a later one: a promise that only all tests can keep.
    "submissions/time_limit_exceeded/late.py": WRONG_THEN_SLOW,
    # Not what its folder says.
    "submissions/run_time_error/fine.py": ADD,
}


@pytest.fixture
def agent(movable_clock, clock, tmp_path):
    """A served site, and an approved agent that judges what is in its pool."""
    with serving(ASSIZE_TICKER_SECONDS="1") as site, (tmp_path / "agent.log").open("ab") as log:
        name = f"verifier-{os.getpid()}"
        state = tmp_path / "state"
        arguments = ["--server", site.http(""), "--state", str(state), "--name", name, "--wait-seconds", "2"]
        process = subprocess.Popen([sys.executable, "-m", "runners.agent", "run", *arguments], cwd=launch.PROJECT, stdout=log, stderr=log)
        try:
            until(lambda: Runner.objects.filter(name=name).exists(), 30)
            queue.approve(Runner.objects.get(name=name).id)
            yield site
        finally:
            process.terminate()
            process.wait(15)
            sweep(find_hierarchy(), Settings(server="", state=state, name=name).box().key)


def test_an_agent_of_the_pool_judges_the_jurys_own_submissions_and_the_page_compares(agent, tmp_path):
    packed = zipped(written(tmp_path / "package", legacy(**JURY)), tmp_path / "package.zip")
    row = factories.work(problem_type="icpc@1", package=factories.package(packed.read_bytes())).version
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="secret"))

    asked = reverse("admin:judging_problemversion_change", args=[row.id]).replace("change/", "verify/")
    client.post(asked, {"reason": "before the contest", "pools": ["default"]})
    batch = Verification.objects.get()
    until(lambda: Verification.objects.get().state == "done", 60)

    found = {name: (state, verdict) for name, state, verdict in batch.items.values_list("name", "state", "found")}
    assert found == {
        "accepted/a.py": ("kept", "Accepted"),
        "accepted/parted": ("kept", "Accepted"),
        "run_time_error/fine.py": ("broken", "Accepted"),
        "time_limit_exceeded/late.py": ("kept", "Wrong answer"),
        "wrong_answer/zero.cpp": ("kept", "Wrong answer"),
    }
    page = words(client.get(reverse("admin:judging_verification_change", args=[batch.id])))
    assert "4 as promised, 1 not." in page
    assert "no test is RTE" in page
