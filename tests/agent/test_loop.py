"""The loop against a server that keeps the protocol, and one that does not (runner-agent §1)."""

import errno
import logging
import threading
import time

import pytest

from runners.agent import backoff, outbox
from runners.agent.answers import Revoked
from runners.agent.api import CLAIM_MARGIN_S, Api, Profile
from runners.agent.enrolment import Enrolment
from runners.agent.errors import InfrastructureFailure, Interrupted, Unavailable
from runners.agent.http import Http
from runners.agent.identity import load_identity
from runners.agent.loop import Habits, Worker
from runners.agent.outbox import Outbox
from runners.agent.spool import Finished, Spool
from runners.agent.work import failed
from tests.agent.server import ENDLESS_HEADS, FakeServer, Problem


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(backoff, "SHORTEST_S", 0.01)
    fake = FakeServer()
    yield fake
    fake.close()


class Bench:
    """A workshop that judges nothing: it does what the test says and reports that."""

    def __init__(self, judge):
        self.judge = judge
        self.began = threading.Event()

    def work(self, claim, fetch, cancelled, progress):
        self.began.set()
        try:
            report = self.judge(claim, fetch, cancelled) or {"verdict": "Accepted", "score": 1, "maxScore": 1}
        except InfrastructureFailure as failure:
            return failed(claim, str(failure))
        return Finished(claim.job_id, claim.lease_token, report, {"log": b"the log", "details": b"{}"})


class Running:
    """One worker on a thread."""

    def __init__(self, server, state, judge, wait_s):
        self.stop = threading.Event()
        self.error = None
        identity = load_identity(state / "key")
        self.server, self.http = server, Http(server.url)
        api = Api(self.http, identity)
        self.spool = Spool(state / "spool").open()
        profile = Profile("box", "test", "1", ("standard-io@1",), ("a",), {})
        self.bench = Bench(judge)
        self.worker = Worker(
            api=api,
            workshop=self.bench,  # type: ignore[arg-type]
            outbox=Outbox(self.spool, api),
            enrolment=Enrolment(api, profile, fingerprint=identity.fingerprint, sleep=lambda s: not self.stop.wait(s)),
            habits=Habits(lease_s=600, wait_s=wait_s),
            stop=self.stop,
        )
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self):
        try:
            self.worker.work(lambda done, total: None)
        except Interrupted:
            pass
        except Exception as error:
            self.error = error

    def end(self):
        self.stop.set()
        self.server.end_waits()
        self.thread.join(5)
        self.http.close()
        self.server.hurry = False
        assert not self.thread.is_alive()


@pytest.fixture
def start(server, tmp_path):
    """`start(judge)`: a worker whose judging is the test's function."""
    started = []

    def begin(judge=lambda *_: None, wait_s=1, state=tmp_path):
        started.append(Running(server, state, judge, wait_s))
        return started[-1]

    yield begin
    for running in started:
        running.end()


def until_cancelled(_claim, _fetch, cancelled):
    """Judge until told to stop."""
    for _ in range(500):
        if cancelled():
            raise Interrupted
        time.sleep(0.01)


def only_result(server):
    server.until(lambda: server.results)
    (result,) = server.results.values()
    return result


def test_a_new_runner_registers_and_judges_a_job(server, start):
    job = server.submit()
    start()

    result = only_result(server)
    assert (result["jobId"], result["verdict"]) == (job, "Accepted")
    assert [(one, role) for one, role, _ in server.attached] == [(job, "log"), (job, "details")]
    (runner,) = server.runners.values()
    assert runner["body"]["problemTypes"] == ["standard-io@1"]
    assert "signature" not in runner["body"]


def test_a_known_runner_signs_when_it_registers_again(server, start):
    start().end()
    start()

    server.until(lambda: server.called("claim") and len(server.called("register")) == 2)
    (runner,) = server.runners.values()
    assert "signature" in runner["body"]


def test_a_runner_waits_for_its_approval(server, start):
    server.approve_new = False
    server.submit()
    start()

    server.until(lambda: len(server.called("token")) > 3)
    assert not server.called("claim")
    for runner in server.runners.values():
        runner["state"] = "approved"
    only_result(server)


def test_the_log_shows_the_key_in_groups_as_the_operators_page_does(server, start, caplog):
    caplog.set_level("INFO", "runners.agent.enrolment")
    server.approve_new = False
    start()

    server.until(lambda: len(server.called("token")) > 1)

    fingerprint = next(iter(server.runners))
    grouped = " ".join(fingerprint[place : place + 4] for place in range(0, 64, 4))
    assert f"key {grouped}, pendingApproval" in caplog.text
    assert f"waiting for approval of key {grouped}: " in caplog.text


def test_a_job_is_said_to_have_arrived_before_it_is_judged(server, start):
    server.submit()
    running = start(until_cancelled)

    assert running.bench.began.wait(5)
    assert len(server.called("progress")) == 1


def test_a_lease_is_renewed_at_a_quarter_of_what_was_granted(server, start):
    server.lease_s = 2
    server.submit()
    start(lambda *_: time.sleep(1.6))

    only_result(server)
    assert 2 <= len(server.called("/lease")) <= 4


def test_a_lease_goes_on_being_renewed_until_the_report_has_landed(server, start):
    server.lease_s = 2
    server.submit()
    server.misbehave(500, "report", times=6)
    start()

    server.until(lambda: server.called("report"))
    only_result(server)
    assert len(server.results) == 1


def test_a_renewal_that_fails_is_tried_again_in_time(server, start):
    server.lease_s = 2
    server.misbehave("drop", "/lease", times=2)
    server.submit()
    start(lambda *_: time.sleep(1.2))

    assert only_result(server)["verdict"] == "Accepted"
    assert len(server.called("/lease")) >= 3


def test_a_lost_lease_stops_the_judging_at_once_and_nothing_is_reported(server, start):
    server.lease_s = 1
    job = server.submit()
    running = start(until_cancelled)
    assert running.bench.began.wait(5)
    running.bench.began.clear()

    began = time.monotonic()
    server.reclaim(job)

    assert running.bench.began.wait(5)
    assert time.monotonic() - began < 2
    assert not server.called("report")
    assert not server.called("release")


def test_a_report_about_a_lost_lease_is_dropped_silently(server, start, caplog):
    job = server.submit()
    running = start(lambda *_: server.reclaim(job) if len(server.called("claim")) == 1 else None)

    server.until(lambda: len(server.results) == 1)
    server.until(lambda: running.spool.waiting() == [])
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("how", ["drop", 500, 502, 429, "garbage", "html", 301, Problem(503, "server.maintenance")], ids=str)
def test_a_server_that_stumbles_everywhere_costs_no_result(server, start, how):
    for where in ("challenge", "register", "token", "claim", "progress", "runner/files", "report"):
        server.misbehave(how, where, times=1 if where == "progress" else 2)
    server.submit()
    start()

    assert only_result(server)["verdict"] == "Accepted"
    assert not server.faults


def test_a_report_whose_answer_was_lost_is_sent_again_and_counts_once(server, start):
    server.submit()
    running = start()
    only_result(server)
    # The same again, as after a lost answer: the stored result is answered.
    (token,) = server.results
    finished = Finished(server.results[token]["jobId"], token, {"verdict": "Accepted"}, {})
    running.spool.put(finished)
    running.end()
    start()

    server.until(lambda: running.spool.waiting() == [])
    assert len(server.results) == 1


def test_a_result_not_accepted_is_kept_and_sent_by_the_next_start(server, start):
    job = server.submit()
    server.misbehave(500, "report", times=100_000)
    running = start()
    server.until(lambda: len(server.called("report")) > 2)
    running.end()
    assert len(running.spool.waiting()) == 1
    assert not server.released

    server.faults.clear()
    start()

    assert only_result(server)["jobId"] == job
    server.until(lambda: running.spool.waiting() == [])


def test_a_kept_result_whose_lease_is_gone_is_dropped(server, start):
    running = start()
    running.end()
    running.spool.put(Finished("11111111-1111-1111-1111-111111111111", "gone", {"verdict": "Accepted"}, {"log": b"x"}))
    start()

    server.until(lambda: running.spool.waiting() == [])
    assert not server.results


def test_an_unreadable_spooled_result_stops_nothing(server, start):
    running = start()
    running.end()
    place = running.spool.put(Finished("j", "t", {}, {}))
    (place / "report.json").write_text("{")
    server.submit()
    start()

    only_result(server)


def test_a_token_that_died_is_replaced_even_for_a_report(server, start):
    server.submit()
    start(lambda *_: server.tokens.clear())

    assert only_result(server)["verdict"] == "Accepted"
    assert len(server.attached) == 2


def test_a_stopping_worker_gives_its_job_back(server, start):
    job = server.submit()
    running = start(until_cancelled)
    assert running.bench.began.wait(5)

    began = time.monotonic()
    running.end()

    assert server.released == [job]
    assert time.monotonic() - began < 1


def test_a_job_that_lands_on_a_stopping_worker_is_given_back(server, start):
    running = start(wait_s=2)
    server.until(lambda: server.called("claim"))
    time.sleep(0.1)
    running.stop.set()
    job = server.submit()

    server.until(lambda: server.released == [job])
    assert not running.bench.began.is_set()


def test_a_revoked_runner_stops_and_says_so(server, start):
    running = start()
    server.until(lambda: server.called("claim"))
    server.revoke()

    running.thread.join(5)
    assert isinstance(running.error, Revoked)
    calls = len(server.calls)
    time.sleep(0.1)
    assert len(server.calls) == calls


def test_a_runner_revoked_while_judging_stops_too(server, start):
    server.lease_s = 1
    server.submit()
    running = start(until_cancelled)
    assert running.bench.began.wait(5)
    server.revoke()

    running.thread.join(8)
    assert isinstance(running.error, Revoked)
    assert not server.results


def test_a_forgotten_runner_registers_anew(server, start):
    start()
    server.until(lambda: server.called("claim"))
    with server.lock:
        server.tokens.clear()
        server.runners.clear()
    server.end_waits()
    server.until(lambda: len(server.called("register")) == 2)
    server.submit()

    only_result(server)


def test_a_registration_the_server_will_never_take_stops_the_agent(server, start):
    server.misbehave(Problem(422, "runner.tags.count"), "register")
    running = start()

    running.thread.join(5)
    assert isinstance(running.error, Unavailable)


def test_a_held_empty_claim_is_asked_again_at_once_and_a_quick_one_after_a_pause(server, start, monkeypatch):
    monkeypatch.setattr(backoff, "SHORTEST_S", 0.5)
    start(wait_s=0)
    time.sleep(1.2)

    assert len(server.called("claim")) <= 4


def test_waiting_claims_are_one_request_a_period(server, start):
    start(wait_s=1)
    time.sleep(2.5)

    assert 2 <= len(server.called("claim")) <= 3


def test_a_file_the_server_does_not_give_is_an_infrastructure_failure(server, start, tmp_path):
    server.submit()
    server.files.clear()
    start(lambda claim, fetch, _: fetch(claim.source, tmp_path / "source"))

    result = only_result(server)
    assert result["infrastructureFailure"] is True
    assert "does not give" in result["failureReason"]


def test_a_file_that_is_not_what_its_checksum_says_is_never_used(server, start, tmp_path):
    server.submit()
    for file_id in server.files:
        server.files[file_id] = b"something else"
    start(lambda claim, fetch, _: fetch(claim.source, tmp_path / "source"))

    assert "checksum" in only_result(server)["failureReason"]


def test_a_report_the_server_cannot_take_becomes_an_infrastructure_failure(server, start):
    server.submit()
    server.misbehave(Problem(413, "payload_too_large"), "report")
    start()

    assert "payload_too_large" in only_result(server)["failureReason"]


def test_an_attachment_that_is_refused_costs_no_result(server, start):
    server.submit()
    server.misbehave(Problem(422, "file.missing"), "/files", times=2)
    start()

    assert only_result(server)["verdict"] == "Accepted"


@pytest.mark.parametrize("how", ["drop", 500, Problem(503, "server.maintenance")])
def test_a_kept_result_is_tried_again_between_claims(server, start, monkeypatch, how):
    monkeypatch.setattr(outbox, "AGAIN_AFTER_S", 0.1)
    server.lease_s = 1
    server.misbehave(how, "report", times=12)
    monkeypatch.setattr(backoff, "LONGEST_S", 0.2)
    server.submit()
    start(wait_s=1)

    assert only_result(server)["verdict"] == "Accepted"


def test_a_result_that_the_disk_does_not_take_is_sent_all_the_same(server, start, monkeypatch):
    def full(path, _):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("runners.agent.spool._write", full)
    server.submit()
    running = start()

    assert only_result(server)["verdict"] == "Accepted"
    assert list(running.spool.root.iterdir()) == []


def test_a_job_that_fails_as_nobody_foresaw_is_given_back_at_once(server, start, monkeypatch):
    failing = [True]
    work = Bench.work

    def fails(*given):
        if failing.pop() if failing else False:
            raise ZeroDivisionError
        return work(*given)

    monkeypatch.setattr(Bench, "work", fails)
    job = server.submit()
    start()

    assert only_result(server)["verdict"] == "Accepted"
    assert server.released == [job]


def test_a_worker_that_is_told_to_stop_ends_a_download_in_the_middle(server, start, tmp_path):
    server.submit(package=b"x" * 100)
    server.misbehave("drip", path="files/", times=9)

    def fetching(claim, fetch, _cancelled):
        fetch(claim.package, tmp_path / "package.zip")

    running = start(fetching)
    server.until(lambda: server.called("files/"))
    running.stop.set()
    running.thread.join(5)

    assert not running.thread.is_alive()
    assert len(server.released) == 1


@pytest.mark.parametrize("how", ["drip", *ENDLESS_HEADS])
def test_an_answer_that_drips_is_given_up(server, start, monkeypatch, how):
    monkeypatch.setattr("runners.agent.http.DRIP_S", 0.5 - CLAIM_MARGIN_S)
    server.misbehave(how, path="/claim")
    server.submit()
    start(wait_s=0)

    assert only_result(server)["verdict"] == "Accepted"


@pytest.mark.parametrize("path", ["challenge", "token", "claim", "lease", "progress", "report"])
def test_text_that_cannot_be_sent_back_is_waited_out(server, start, path):
    server.lease_s = 1
    server.misbehave("surrogates", path=path)
    server.submit()
    running = start(lambda *_: time.sleep(0.6))

    assert only_result(server)["verdict"] == "Accepted"
    assert running.error is None


def test_an_absurdly_short_lease_is_not_renewed_without_a_pause(server, start):
    server.lease_s = 0.01
    server.submit()
    start(lambda *_: time.sleep(0.5))
    only_result(server)

    assert len(server.called("/lease")) <= 3


def test_retry_after_only_lengthens_the_pause():
    pause = backoff.Backoff()
    assert 10 <= pause.delay_s(10) < 11
    assert pause.delay_s(0) >= 1


def test_pauses_double_from_1_to_30_seconds_within_a_fifth():
    pause = backoff.Backoff()
    for middle in (1, 2, 4, 8, 16, 30, 30):
        assert middle * 0.8 <= pause.delay_s() <= middle * 1.2
    pause.reset()
    assert pause.delay_s() <= 1.2
