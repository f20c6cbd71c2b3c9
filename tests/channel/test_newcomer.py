"""What the README tells a newcomer: its client judges a job as it is printed there."""

import re
import subprocess
import sys
from contextlib import ExitStack

from config import launch
from judging import queue
from tests import factories
from tests.channel.conftest import Hall, is_quiet, stored, until

STANDARD_IO = (factories.STANDARD_IO,)


def printed_client() -> str:
    section = (launch.PROJECT / "README.md").read_text().split("## For runners on a WebSocket")[1].split("\n## ")[0]
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_client_in_the_readme_judges_a_job(served, clock, tmp_path):
    program = tmp_path / "channel.py"
    program.write_text(printed_client())
    with ExitStack() as lines:
        job = Hall(served, factories.work(), lines).submit()
        _, key = queue.add_channel_runner("box 1", problem_types=STANDARD_IO, tags=())

        done = subprocess.run([sys.executable, program, served.url("box-1"), key], capture_output=True, text=True, timeout=30, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["> ready < job", "> running < ack", *["> heartbeat < ack"] * 3, "> completed < ack"]
    until(lambda: stored(job).state == "completed")
    until(is_quiet)
