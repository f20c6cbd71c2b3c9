"""Waiting, as a runner sees it: through a real server (runner-protocol §4, performance.md §3-4)."""

import socket
import time
from uuid import uuid4

import pytest

from tests.front.conftest import until


@pytest.fixture
def submission(site):
    pk = uuid4()
    site.sql("INSERT INTO fake_submission VALUES (%s, false)", pk)
    return pk


def awaiting(site, pk, seconds):
    return site.telling(site.get, f"/api/v1/submissions/{pk}", waitSeconds=seconds)


def hang_up_after(site, seconds, *, body):
    with socket.create_connection(("127.0.0.1", site.port)) as line:
        head = f"POST /api/v1/runner/jobs/claim HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        line.sendall(head.encode() + body)
        time.sleep(seconds)


def test_one_announcement_wakes_exactly_one_of_two_like_waiters(site):
    both = [site.claiming(waitSeconds=3), site.claiming(waitSeconds=3)]
    announced = time.monotonic()

    site.enqueue()

    until(lambda: sum(told.pending for told in both) == 1, 0.5)
    assert time.monotonic() - announced < 0.5
    time.sleep(0.2)
    assert sorted(told.pending for told in both) == [False, True]
    # Two first looks, the one that was woken, and the next, whom a success wakes in case there is more.
    assert site.count("looks") == 4
    site.enqueue()
    assert [told.status for told in both] == [200, 200]


def test_jobs_announced_as_one_reach_as_many_waiters(site):
    waiting = [site.claiming(waitSeconds=5) for _ in range(4)]

    site.enqueue(n=3)

    until(lambda: sum(told.pending for told in waiting) == 1, 1)
    site.enqueue()
    assert [told.status for told in waiting] == [200] * 4


def test_work_of_another_kind_wakes_nobody(site):
    told = site.claiming(waitSeconds=1, kinds=["a"])

    site.enqueue("b")

    assert told.status == 204
    assert site.count("looks") == 1


def test_a_waiter_that_is_woken_for_nothing_keeps_waiting(site):
    told = site.claiming(waitSeconds=5)

    site.enqueue(n=0)
    until(lambda: site.count("looks") == 2)
    time.sleep(0.1)
    assert told.pending

    site.enqueue()
    assert told.status == 200


def test_an_empty_wait_ends_within_its_last_sixteenth(site):
    told = [site.telling(site.claim, waitSeconds=1.6) for _ in range(8)]

    assert [each.status for each in told] == [204] * 8
    assert all(1.5 <= each.seconds < 1.65 for each in told)


@pytest.mark.parametrize("wait", [None, 0, -5])
def test_without_a_wait_the_answer_comes_at_once(site, wait):
    told = site.telling(site.claim, waitSeconds=wait)

    assert told.status == 204
    assert told.seconds < 0.5


def test_a_caller_who_hangs_up_is_not_woken(site):
    hang_up_after(site, 0.2, body=b'{"waitSeconds": 30}')
    time.sleep(0.1)

    site.enqueue()
    time.sleep(0.2)

    assert site.count("looks") == 1
    assert site.claim().status_code == 200


def test_a_job_handed_to_a_caller_who_hung_up_goes_to_the_next(site):
    site.enqueue()
    hang_up_after(site, 0.2, body=b'{"waitSeconds": 30, "slow": 0.6}')
    told = site.claiming(waitSeconds=5)

    assert told.status == 200
    assert site.count("undone") == 1


def test_a_job_that_was_delivered_is_not_taken_back(site):
    site.enqueue()

    assert site.claim().status_code == 200
    time.sleep(0.2)

    assert site.count("undone") == 0


def test_the_verdict_wakes_all_who_await_it(site, submission):
    told = [awaiting(site, submission, 5) for _ in range(3)]
    time.sleep(0.3)

    site.post(f"/api/v1/submissions/{submission}/judge")

    assert [each.response.json()["judged"] for each in told if each.status == 200] == [True] * 3
    assert all(each.seconds < 1 for each in told)


def test_an_unjudged_submission_is_answered_as_it_is_when_the_time_is_up(site, submission):
    began = time.time()
    told = awaiting(site, submission, 1.6)

    assert told.status == 200
    assert 1.5 <= told.seconds < 1.65
    assert told.response.json()["judged"] is False
    assert told.response.json()["at"] - began > 1.4


def test_a_broad_change_is_obeyed_within_a_second(site):
    waiting = [site.claiming(waitSeconds=10) for _ in range(3)]
    began = time.monotonic()

    site.post("/close")

    assert [told.status for told in waiting] == [403] * 3
    assert time.monotonic() - began < 1


def test_a_token_that_expires_during_the_wait_is_refused_within_a_second(site):
    told = site.telling(site.claim, waitSeconds=10, ends_at=time.time() + 1)

    assert told.status == 401
    assert told.seconds < 2


def test_each_look_is_the_whole_request_again(site):
    told = site.claiming(waitSeconds=5, note="kept")

    site.enqueue()

    assert told.status == 200
    assert told.response.json()["note"] == "kept"


def test_when_the_listening_connection_comes_back_everybody_looks(site):
    told = site.claiming(waitSeconds=20)
    site.sql("INSERT INTO fake_job (id, kind) VALUES (%s, 'a')", uuid4())

    site.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'assize listener'"
    )

    assert told.status == 200
    assert told.seconds < 4


def test_notifications_of_other_programs_wake(site):
    told = site.claiming(waitSeconds=5)
    site.sql("INSERT INTO fake_job (id, kind) VALUES (%s, 'a')", uuid4())

    site.sql("SELECT pg_notify('assize', %s)", '["",[["w","a",0,["default"]]]]')

    assert told.status == 200
    assert told.seconds < 1


def test_a_notification_that_makes_no_sense_makes_everybody_look(site):
    told = site.claiming(waitSeconds=5)
    site.sql("INSERT INTO fake_job (id, kind) VALUES (%s, 'a')", uuid4())

    site.sql("SELECT pg_notify('assize', '{')")

    assert told.status == 200
    assert told.seconds < 1
