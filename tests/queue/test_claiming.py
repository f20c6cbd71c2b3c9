"""Who gets what, and in which order: runner-protocol §4, queue.md §4."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from contests.models import Activity, Round
from contests.routing import assign, retag_activity, retag_round
from judging import queue
from judging.errors import RunnerNotApproved
from judging.models import Installation, Job, Lane, Maintenance, Problem, ProblemVersion
from judging.queue import Nothing
from judging.queue.claim import CLAIM
from runners.keys import new_id
from tests.locks import until_waiting
from tests.meeting import in_threads
from tests.queue.conftest import OPERATOR, claimed, release, report, stored


@pytest.mark.parametrize(
    "fields",
    [
        {"problem_types": ["icpc@1"]},
        {"problem_types": ["standard-io@1 "]},
        {"problem_types": []},
        {"external": True},
        {"tags": ["finals"]},
    ],
)
def test_a_runner_that_does_not_fit_gets_nothing(hall, fields):
    hall.submit()

    assert not isinstance(queue.claim(hall.runner(**fields)), queue.ClaimedJob)


def test_external_work_goes_to_external_runners_alone_and_only_when_the_switch_is_on(hall, box_1):
    hall.submit(lane=hall.other_lane(external=True))
    forwarder = hall.runner(external=True)

    assert queue.claim(box_1) is Nothing.WANT_OF_WORK
    assert queue.claim(forwarder) is Nothing.SHUT
    queue.switch_external(True)
    assert claimed(forwarder)


@pytest.mark.parametrize(
    ("work", "tags", "fits"),
    [
        (["default"], [], True),
        (["default"], ["default"], True),
        (["finals"], ["finals"], True),
        (["finals", "spare"], ["spare", "other"], True),
        (["finals"], ["default"], False),
        (["finals"], [], False),
        (["Finals"], ["finals"], False),
    ],
)
def test_pools_meet_by_any_common_tag(hall, work, tags, fits):
    hall.submit(lane=hall.other_lane(pools=work))

    assert isinstance(queue.claim(hall.runner(tags=tags)), queue.ClaimedJob) is fits


@pytest.mark.parametrize("state", ["pending", "revoked", "unknown"])
def test_a_runner_without_approval_is_refused(hall, state):
    runner = new_id() if state == "unknown" else hall.runner(approved=state == "revoked")
    if state == "revoked":
        queue.revoke(runner, by=OPERATOR, reason="lost")

    with pytest.raises(RunnerNotApproved):
        queue.claim(runner)


@pytest.mark.parametrize("level", [Maintenance.DRAINING, Maintenance.CLOSED])
def test_nothing_is_handed_out_in_maintenance_and_all_of_it_afterwards(hall, box_1, level):
    hall.submit()
    queue.switch_maintenance(level, reason="new switch")

    assert queue.claim(box_1) is Nothing.SHUT
    queue.switch_maintenance(Maintenance.OPEN)
    assert claimed(box_1)


def test_a_drain_closes_when_nothing_runs_and_keeps_its_first_time_and_reason(hall, box_1):
    hall.submit()
    job = claimed(box_1)
    first = queue.switch_maintenance(Maintenance.DRAINING, reason="new switch")
    queue.sweep()
    again = queue.switch_maintenance(Maintenance.DRAINING, reason="something else")

    assert (again.level, again.since, again.reason) == (Maintenance.DRAINING, first.since, "new switch")
    report(job)
    queue.sweep()
    assert queue.switch_maintenance(Maintenance.CLOSED).since == first.since


def test_a_drain_closes_after_its_time_even_when_something_runs(hall, box_1, clock):
    hall.submit()
    claimed(box_1, lease_seconds=3600)
    queue.switch_maintenance(Maintenance.DRAINING, reason="new switch")
    clock.forward(seconds=299)
    assert not queue.close_if_drained()
    clock.forward(seconds=2)

    assert queue.close_if_drained()


def test_a_drain_does_not_close_over_a_claim_under_way(hall, box_1):
    """The claim has looked while the doors were not yet draining; its holder is to be able to report."""
    hall.submit()
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(CLAIM, [box_1, 600, False])
            assert cursor.fetchone()[0] == "held"
            assert in_threads(lambda: queue.switch_maintenance(Maintenance.DRAINING, reason="new switch"))
            closing = pool.submit(in_threads, queue.close_if_drained)
            until_waiting(1)
        assert closing.result(10) == [False]

    assert Job.objects.get().state == "running"
    assert Installation.objects.get().level == Maintenance.DRAINING


def test_the_oldest_goes_first_and_what_comes_back_keeps_its_place(hall, box_1):
    receipts = [hall.submit() for _ in range(3)]
    release(claimed(box_1))

    assert [claimed(box_1).row.id for _ in range(3)] == [receipt.job for receipt in receipts]


def test_lanes_are_served_in_one_order_of_age(hall, box_1):
    other = hall.other_lane()
    receipts = [hall.submit(lane=lane) for lane in (other, hall.lane, other, hall.lane)]

    assert [claimed(box_1).row.id for _ in range(4)] == [receipt.job for receipt in receipts]


def test_work_behind_a_long_foreign_head_is_found_in_its_own_order(hall, box_1):
    foreign = hall.other_lane(pools=["finals"])
    for _ in range(40):
        hall.submit(lane=foreign)
    mine = [hall.submit(lane=hall.other_lane()) for _ in range(3)]

    assert [claimed(box_1).row.id for _ in range(3)] == [receipt.job for receipt in mine]
    assert queue.claim(box_1) is Nothing.WANT_OF_WORK


def test_priority_classes_come_before_age(hall, box_1):
    jury, practice, contest = (hall.submit(lane=hall.other_lane(priority=n)) for n in (4, 2, 1))
    rejudged = hall.submit()
    report(claimed(box_1))  # contest, the oldest of its class
    report(claimed(box_1))  # the one to be rejudged
    again = hall.rejudge(rejudged.submission)
    urgent = hall.rejudge(contest.submission, urgent=True)

    assert [claimed(box_1).row.id for _ in range(4)] == [urgent, practice.job, again, jury.job]


def test_a_paused_lane_keeps_its_work_and_gives_it_out_in_order_when_resumed(hall, box_1):
    queue.pause(hall.lane, reason="the checker crashes")
    receipts = [hall.submit() for _ in range(3)]

    assert queue.claim(box_1) is Nothing.WANT_OF_WORK
    queue.resume(hall.lane)
    assert [claimed(box_1).row.id for _ in range(3)] == [receipt.job for receipt in receipts]


def test_a_rejudge_waits_for_the_attempt_a_runner_holds(hall, box_1, box_2):
    receipt = hall.submit()
    held = claimed(box_1)
    again = hall.rejudge(receipt.submission)

    assert queue.claim(box_2) is Nothing.WANT_OF_WORK
    report(held)
    assert claimed(box_2).row.id == again


def test_a_rejudge_ends_a_queued_sibling_which_no_runner_ever_sees(hall, box_1):
    receipt = hall.submit()
    again = hall.rejudge(receipt.submission)

    assert (stored(receipt.job).state, stored(receipt.job).replaced_by) == ("superseded", again)
    assert claimed(box_1).row.id == again
    assert queue.claim(box_1) is Nothing.WANT_OF_WORK


def test_a_returned_attempt_goes_before_the_rejudge_that_waited_for_it(hall, box_1, box_2, clock):
    receipt = hall.submit()
    held = claimed(box_1)
    queue.progress(held.row.id, token=held.row.token, runner=box_1)
    again = hall.rejudge(receipt.submission)
    clock.forward(seconds=1300)

    assert claimed(box_2).row.id == receipt.job
    assert stored(again).state == "queued"


def test_an_urgent_rejudge_overtakes_a_hand_out_that_lapsed_unheard(hall, box_1, box_2, clock):
    receipt = hall.submit()
    held = claimed(box_1)
    urgent = hall.rejudge(receipt.submission, urgent=True)
    assert report_is_open(held)
    clock.forward(seconds=601)

    assert claimed(box_2).row.id == urgent
    assert stored(receipt.job).state == "queued"


def test_a_claim_meets_every_lapsed_lease_and_not_only_the_longest_lapsed(hall, box_1, box_2, clock):
    """A foreign one that lapsed first must not hide the one this runner may take (queue.md §4)."""
    foreign = hall.runner(tags=["finals"])
    hall.submit(lane=hall.other_lane(pools=["finals"]))
    claimed(foreign)
    receipt = hall.submit()
    claimed(box_1)
    clock.forward(seconds=601)

    assert claimed(box_2).row.id == receipt.job


def test_many_lapsed_leases_never_keep_a_claim_from_work_that_waits(hall, box_1, box_2, clock):
    lapsed = [hall.submit() for _ in range(20)]
    for _ in lapsed:
        claimed(box_1)
    clock.forward(seconds=601)
    hall.submit()

    assert claimed(box_2)


def report_is_open(job) -> bool:
    return stored(job.row.id).token == job.row.token


def test_an_urgent_job_that_comes_back_unstarted_gives_way_to_a_newer_urgent_one(hall, box_1):
    receipt = hall.submit()
    first = hall.rejudge(receipt.submission, urgent=True)
    held = claimed(box_1)
    second = hall.rejudge(receipt.submission, urgent=True)
    release(held)

    assert held.row.id == first
    assert (stored(first).state, stored(first).replaced_by) == ("superseded", second)
    assert claimed(box_1).row.id == second


def test_attempts_are_numbered_in_order(hall, box_1):
    receipt = hall.submit()
    for _ in range(3):
        hall.rejudge(receipt.submission)

    assert list(Job.objects.order_by("created_at").values_list("attempt", flat=True)) == [1, 2, 3, 4]


def test_a_claimed_job_carries_what_was_sent_and_nothing_of_its_siblings(hall, box_1):
    hall.submit(props='{"language":"python3"}')
    job = claimed(box_1)

    assert (job.props, job.config, job.version_props) == ('{"language":"python3"}', "", "")
    assert (job.package, job.package_sha256, job.problem_type) == (None, "", "standard-io@1")


def test_a_runner_that_started_first_serves_a_contest_made_later(transactional_db, box_1):
    assert queue.claim(box_1) is Nothing.WANT_OF_WORK
    problem = Problem.objects.create(slug="late", title="Late")
    version = ProblemVersion.objects.create(problem=problem, number=1)
    round_ = Round.objects.create(activity=Activity.objects.create(slug="late", title="Late"), title="One")
    lane = assign(round_, problem, slug="A").lane_id
    queue.submit(queue.NewSubmission(lane=lane, version=version.id, files=()), actor=OPERATOR)

    assert claimed(box_1)


def test_retagging_redirects_work_that_is_already_waiting(hall, box_1):
    activity = Activity.objects.create(slug="finals", title="Finals")
    pinned = Round.objects.create(activity=activity, title="Pinned", position=1, pools=["attic"])
    loose = Round.objects.create(activity=activity, title="Loose", position=2)
    problem = Problem.objects.get()
    lanes = [assign(round_, problem, slug="A").lane_id for round_ in (pinned, loose)]
    for lane in lanes:
        hall.submit(lane=lane)
    room = hall.runner(tags=["room 5"])

    retag_activity(activity.id, pools=["Room 5 "])
    assert claimed(room).row.lane == lanes[1]
    assert queue.claim(room) is Nothing.WANT_OF_WORK
    retag_round(pinned.id, pools=["room 5"])
    assert claimed(room).row.lane == lanes[0]
    retag_round(pinned.id, pools=[])
    assert Lane.objects.get(id=lanes[0]).pools == ["room 5"]


def test_retagging_a_runner_counts_from_its_next_look(hall, box_1):
    hall.submit(lane=hall.other_lane(pools=["finals"]))

    assert queue.claim(box_1) is Nothing.WANT_OF_WORK
    assert queue.retag(box_1, tags=[" Finals", "finals", ""]) == ["finals"]
    assert claimed(box_1)


def test_an_active_lane_is_put_to_rest_by_the_sweep_and_woken_by_work(hall, box_1):
    hall.submit()
    assert Lane.objects.get(id=hall.lane).active
    claimed(box_1)
    assert queue.sweep().repaired == 1
    assert not Lane.objects.get(id=hall.lane).active
    hall.submit()
    assert Lane.objects.get(id=hall.lane).active


def test_a_lane_at_rest_is_woken_by_the_result_that_uncovers_work(hall, box_1):
    hall.submit(thread_key="t")
    hall.submit(thread_key="t")
    job = claimed(box_1)
    queue.sweep()
    assert not Lane.objects.get(id=hall.lane).active

    report(job)

    assert Lane.objects.get(id=hall.lane).active
    assert claimed(box_1).row.attempt == 1


def test_a_rejudge_judges_by_the_newest_version_and_the_first_judging_by_what_was_sent_to(hall, box_1):
    receipt = hall.submit()
    newer = ProblemVersion.objects.create(problem=Problem.objects.get(), number=2, props='{"mended":true}')
    first = claimed(box_1)
    report(first)
    hall.rejudge(receipt.submission)
    again = claimed(box_1)

    assert (first.row.version, first.version_props) == (hall.version, "")
    assert (again.row.version, again.version_props) == (newer.id, '{"mended":true}')


def test_a_rejudge_in_a_pinned_lane_keeps_to_the_pinned_version(hall, box_1):
    receipt = hall.submit()
    ProblemVersion.objects.create(problem=Problem.objects.get(), number=2)
    Lane.objects.filter(id=hall.lane).update(version=hall.version)
    report(claimed(box_1))
    hall.rejudge(receipt.submission)

    assert claimed(box_1).row.version == hall.version
