"""The reference runner over the channel, as operators start it, on a line that is cut and a server that dies."""

import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from config import launch
from contests.demo.packages import package
from judging import queue
from runners.models import Runner, RunnerState, Transport
from tests import factories
from tests.channel.conftest import OPERATOR, free_port, serving, stored, until

RIGHT = b"import sys\nprint(sum(map(int, sys.stdin.read().split()[1:])))\n"
SLOW = b"import time\ntime.sleep(0.5)\n" + RIGHT


class Relay:
    """A line between an agent and a server, which can be cut."""

    def __init__(self, port):
        self.port = free_port()
        self._to = port
        self._open = []
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self._to))
                except OSError:
                    near.close()
                    continue
                self._open += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, one, other):
        with suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        for line in (one, other):
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def cut(self):
        """End every connection there is."""
        for line in self._open:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()
        self._open.clear()

    def close(self):
        self._listener.close()
        self.cut()


@contextmanager
def judging(port, folder, *options):
    """An agent with a key, for as long as the block lasts; its runner's id."""
    key = folder / "channel-key"
    command = [sys.executable, "-m", "runners.agent", "run", "--server", f"http://127.0.0.1:{port}", "--state", str(folder / "state")]
    command += ["--name", "agent", "--transport", "channel", "--channel-key", str(key), "--unsafe", "--wait-seconds", "5", *options]
    with (folder / "agent.log").open("ab") as log:
        agent = subprocess.Popen(command, cwd=launch.PROJECT, stdout=log, stderr=log)
    try:
        until(lambda: Runner.objects.filter(name="agent").exists(), 20)
        runner = Runner.objects.get(name="agent")
        if runner.state != RunnerState.APPROVED:
            queue.approve(runner.id)
            key.write_text(queue.replace_channel_key(runner.id, by=OPERATOR))
        until(lambda: Runner.objects.get(id=runner.id).transport == Transport.CHANNEL, 30)
        yield runner.id
    finally:
        agent.terminate()
        agent.wait(15)


def submission(source):
    work = factories.work(package=factories.package(package("A")))
    return factories.submission(work, source=factories.stored_file(source), props='{"language":"python3"}').job


def log_of(folder):
    return (folder / "agent.log").read_text()


@pytest.mark.slow
def test_the_agent_judges_over_the_channel(served, clock, tmp_path):
    with judging(served.port, tmp_path):
        job, wrong = submission(RIGHT), submission(b"print(0)\n")

        until(lambda: stored(job).state == stored(wrong).state == "completed", 40)

    assert (stored(job).result.verdict, stored(job).result.score) == ("Accepted", 100.0)
    assert stored(wrong).result.verdict == "Wrong answer"
    assert {one.name for one in stored(job).delivery_set.get().attachments.all()} == {"details", "log"}


@pytest.mark.slow
def test_a_run_survives_a_cut_line_and_its_result_is_delivered(served, clock, tmp_path):
    relay = Relay(served.port)
    with judging(relay.port, tmp_path):
        job = submission(SLOW)
        until(lambda: stored(job).started_at is not None, 30)
        relay.cut()

        until(lambda: stored(job).state == "completed", 40)

    relay.close()
    assert (stored(job).result.verdict, stored(job).fence) == ("Accepted", 1)


@pytest.mark.slow
def test_a_run_survives_the_servers_death(movable_clock, clock, tmp_path):
    port = free_port()
    with serving(port=port) as site, judging(port, tmp_path):
        job = submission(SLOW)
        until(lambda: stored(job).started_at is not None, 30)
        site.kill()
        time.sleep(1)
        with serving(port=port):
            until(lambda: stored(job).state == "completed", 60)
    assert (stored(job).result.verdict, stored(job).fence) == ("Accepted", 1)
    assert "Traceback" not in log_of(tmp_path)


@pytest.mark.slow
def test_an_operators_cancel_stops_the_run_and_is_confirmed(served, clock, tmp_path):
    with judging(served.port, tmp_path):
        job = submission(SLOW)
        until(lambda: stored(job).started_at is not None, 30)
        queue.cancel(job, by=OPERATOR, reason="a wrong problem")
        after = submission(RIGHT)

        until(lambda: stored(after).state == "completed", 40)

    assert stored(job).state == "cancelled"


@pytest.mark.slow
def test_a_stopping_agent_gives_its_job_back(served, clock, tmp_path):
    with judging(served.port, tmp_path):
        job = submission(SLOW)
        until(lambda: stored(job).started_at is not None, 30)

    assert (stored(job).state, stored(job).releases) == ("queued", 1)
