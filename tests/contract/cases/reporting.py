"""What a report does: runner-protocol §8, queue.md §4 (report, admit outside); seed 000."""

from __future__ import annotations

import pytest

from tests.contract.cases.base import LEASE, Case, at_once, broken, claimed, lost, progress, refused, release, report


class Reporting(Case):
    """Once a lease token, repeated for ever."""

    def test_a_result_completes_the_job_and_retires_the_token(self, queue, lane, box_1):
        receipt = queue.submit(lane)
        answer = report(queue, claimed(queue, box_1), verdict="Wrong answer")
        job = queue.job(receipt.job)

        assert (answer.state, answer.duplicate) == ("completed", False)
        assert answer.result is not None
        assert (job.state, job.verdict, job.admitted, job.finished) == ("completed", "Wrong answer", True, True)
        assert (job.token, job.runner, job.until) == (None, None, None)

    def test_a_repeat_answers_the_stored_result_whatever_it_says_now(self, store, queue, lane, box_1):
        receipt = queue.submit(lane)
        handout = claimed(queue, box_1)
        first = report(queue, handout)
        store.forward(400 * 86_400)

        for again in (report(queue, handout, verdict="Wrong answer"), broken(queue, handout), report(queue, handout, verdict="")):
            assert (again.result, again.state, again.duplicate) == (first.result, "completed", True)
        assert queue.job(receipt.job).verdict == "Accepted"

    def test_a_repeat_after_giving_up_answers_its_result_too(self, store, queue, box_1):
        queue.submit(store.lane(cap=1))
        handout = claimed(queue, box_1)
        first, again = broken(queue, handout), broken(queue, handout)

        assert (again.result, again.state, again.duplicate) == (first.result, "failed", True)

    @pytest.mark.parametrize("later", ["void", "rejudge", "delete"])
    def test_a_repeat_answers_whatever_came_later(self, queue, lane, box_1, later):
        receipt = queue.submit(lane)
        handout = claimed(queue, box_1)
        first = report(queue, handout)
        if later == "void":
            queue.void(receipt.job)
        if later == "rejudge":
            queue.rejudge(receipt.submission)
        if later == "delete":
            queue.delete(receipt.submission)

        assert report(queue, handout).result == first.result

    def test_a_repeat_of_an_infrastructure_failure_that_sent_the_job_back_is_stale(self, queue, lane, box_1):
        """No result was stored, so nothing is keyed on that token."""
        receipt = queue.submit(lane)
        handout = claimed(queue, box_1)
        broken(queue, handout)

        with refused("runner.lease.stale"):
            broken(queue, handout)
        assert queue.job(receipt.job).deliveries == 1

    def test_another_token_is_stale_even_from_the_owner_of_the_result(self, store, queue, lane, box_1):
        queue.submit(lane)
        lost(store, queue, first := claimed(queue, box_1))
        second = claimed(queue, box_1)
        report(queue, second)

        for token in (first.token, store.unknown()):
            with refused("runner.lease.stale"):
                queue.report(second.job, token, box_1)

    def test_a_result_that_another_runner_asks_for_by_its_token_is_stale(self, queue, lane, box_1, box_2):
        queue.submit(lane)
        handout = claimed(queue, box_1)
        report(queue, handout)

        with refused("runner.lease.stale"):
            queue.report(handout.job, handout.token, box_2)

    def test_a_result_asked_for_under_another_job_is_stale(self, queue, lane, box_1):
        for _ in range(2):
            queue.submit(lane)
        one, other = claimed(queue, box_1), claimed(queue, box_1)
        report(queue, one)

        with refused("runner.lease.stale"):
            queue.report(other.job, one.token, box_1)

    def test_what_cannot_be_a_token_is_malformed_even_after_the_result(self, queue, lane, box_1):
        queue.submit(lane)
        handout = claimed(queue, box_1)
        report(queue, handout)

        with refused("runner.lease.malformed"):
            queue.report(handout.job, None, box_1)

    @pytest.mark.parametrize(
        ("verdict", "code"),
        [("", "result.verdict.missing"), (" \t", "result.verdict.missing"), ("x" * 65, "result.verdict.tooLong")],
    )
    def test_a_verdict_is_needed_and_has_64_characters_at_most(self, queue, lane, box_1, verdict, code):
        queue.submit(lane)
        handout = claimed(queue, box_1)

        with refused(code):
            report(queue, handout, verdict=verdict)
        assert report(queue, handout, verdict="x" * 64).state == "completed"

    def test_the_lease_is_checked_before_the_verdict(self, store, queue, lane, box_1, box_2):
        queue.submit(lane)
        late = claimed(queue, box_1)
        with refused("runner.lease.foreign"):
            queue.report(late.job, late.token, box_2, verdict="")
        store.forward(LEASE)
        claimed(queue, box_2)

        with refused("runner.lease.stale"):
            report(queue, late, verdict="")

    def test_an_infrastructure_failure_needs_no_verdict(self, queue, lane, box_1):
        queue.submit(lane)

        assert report(queue, claimed(queue, box_1), verdict="", infrastructure="no disk").state == "queued"

    def test_the_same_report_from_eight_connections_at_once_is_one_result(self, store, queue, lane, box_1):
        queue.submit(lane)
        handout = claimed(queue, box_1)
        answers = at_once(store, *[lambda client: report(client, handout)] * 8)

        assert len({answer.result for answer in answers}) == 1
        assert [answer.duplicate for answer in answers].count(False) == 1

    def test_a_job_handed_over_outside_is_resumed_by_the_next_delivery(self, queue, lane, box_1, box_2):
        receipt = queue.submit(lane)
        handout = claimed(queue, box_1)
        assert handout.outside is None
        progress(queue, handout, "outside-1")
        job = queue.job(receipt.job)
        assert (job.admitted, job.outside, job.heard) == (True, "outside-1", True)
        release(queue, handout)

        assert claimed(queue, box_2).outside == "outside-1"

    def test_a_second_outside_id_is_refused_and_the_first_may_be_said_again(self, queue, lane, box_1):
        queue.submit(lane)
        handout = claimed(queue, box_1)
        progress(queue, handout, "outside-1")
        progress(queue, handout, "outside-1")

        with refused("job.admitted"):
            progress(queue, handout, "outside-2")
        assert queue.job(handout.job).outside == "outside-1"

    @pytest.mark.parametrize("outside", ["", "  ", "x" * 201])
    def test_an_outside_id_has_1_to_200_characters(self, queue, lane, box_1, outside):
        queue.submit(lane)
        handout = claimed(queue, box_1)

        with refused("malformed_request"):
            progress(queue, handout, outside)
        progress(queue, handout, "x" * 200)

    def test_a_late_holder_cannot_hand_over(self, store, queue, lane, box_1, box_2):
        queue.submit(lane)
        late = claimed(queue, box_1)
        store.forward(LEASE)
        claimed(queue, box_2)

        with refused("runner.lease.stale"):
            progress(queue, late, "outside-1")
        assert not queue.job(late.job).admitted
