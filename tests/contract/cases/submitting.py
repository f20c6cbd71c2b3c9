"""How work enters: queue.md §4 (submit), I3, I4; seed 003 (submit)."""

from __future__ import annotations

import pytest

from tests.contract.cases.base import Case, at_once, claimed, codes, progress, refused, release, report, states


class Submitting(Case):
    """Idempotency keys, the three modes, the two grains."""

    def test_a_submission_waits_as_its_first_attempt(self, queue, lane):
        receipt = queue.submit(lane)
        job = queue.job(receipt.job)

        assert (job.state, job.attempt, job.deliveries, job.fence, job.submission) == ("queued", 1, 0, 0, receipt.submission)
        assert not receipt.existing
        assert queue.submission(receipt.submission).jobs == (receipt.job,)

    def test_without_a_key_the_same_thing_twice_is_two_submissions(self, queue, lane):
        assert queue.submit(lane).submission != queue.submit(lane).submission

    def test_a_retry_under_its_key_gets_the_old_receipt(self, queue, lane):
        first = queue.submit(lane, key="k", scope="p1", content="c", source="s")
        again = queue.submit(lane, key="k", scope="p1", content="c", source="s")

        assert (again.submission, again.job, again.existing) == (first.submission, first.job, True)
        assert queue.submission(first.submission).jobs == (first.job,)

    @pytest.mark.parametrize("fate", ["judged", "cancelled", "superseded", "deleted", "held"])
    def test_a_retry_gets_the_old_receipt_whatever_became_of_it(self, queue, lane, box_1, fate):
        first = queue.submit(lane, key="k", thread="t")
        if fate in {"judged", "held"}:
            handout = claimed(queue, box_1)
        if fate == "judged":
            report(queue, handout)
        if fate == "cancelled":
            queue.cancel(first.job)
        if fate == "superseded":
            queue.rejudge(first.submission)
        if fate == "deleted":
            queue.delete(first.submission)
        again = queue.submit(lane, key="k", thread="t")

        assert (again.submission, again.job, again.existing) == (first.submission, first.job, True)

    @pytest.mark.parametrize(
        "other", [{"content": "d"}, {"source": "t"}, {"thread": "u"}, {"urgent": True}, {"only_if_idle": True}], ids=str
    )
    def test_another_content_under_a_used_key_is_refused_and_leaves_nothing(self, queue, lane, box_1, other):
        asked = {"key": "k", "content": "c", "source": "s", "thread": "t"}
        first = queue.submit(lane, **asked)

        with refused("submission.key.reused"):
            queue.submit(lane, **asked | other)
        assert claimed(queue, box_1).job == first.job
        assert queue.claim(box_1) is None

    def test_another_problem_under_a_used_key_is_refused(self, store, queue, lane):
        queue.submit(lane, key="k")

        with refused("submission.key.reused"):
            queue.submit(store.lane(), key="k")

    def test_a_key_is_its_scopes_own(self, queue, lane):
        first = queue.submit(lane, key="k", scope="p1")

        assert queue.submit(lane, key="k", scope="p2").submission != first.submission
        assert queue.submit(lane, key="k", scope="p1").existing

    def test_a_key_is_its_organizations_own_and_none_is_an_organization_of_its_own(self, store, queue, lane):
        tenants = [None, store.unknown(), store.unknown()]
        receipts = [queue.submit(lane, key="k", organization=tenant) for tenant in tenants]

        assert len({receipt.submission for receipt in receipts}) == 3
        assert not any(receipt.existing for receipt in receipts)
        assert all(queue.submit(lane, key="k", organization=tenant).existing for tenant in tenants)

    def test_one_key_of_two_organizations_may_carry_different_contents(self, store, queue, lane):
        queue.submit(lane, key="k", content="c")

        assert not queue.submit(lane, key="k", content="d", organization=store.unknown()).existing

    def test_a_thread_is_its_organizations_own(self, store, queue, lane, box_1, box_2):
        for tenant in (None, store.unknown()):
            queue.submit(lane, thread="t", organization=tenant, only_if_idle=True)

        assert claimed(queue, box_1)
        assert claimed(queue, box_2)

    @pytest.mark.parametrize("open_job", ["waiting", "held", "lapsed", "returned"])
    def test_only_if_idle_is_refused_while_anything_of_the_thread_is_open(self, store, queue, lane, box_1, open_job):
        first = queue.submit(lane, thread="t")
        if open_job != "waiting":
            handout = claimed(queue, box_1)
        if open_job == "returned":
            release(queue, handout)
        if open_job == "lapsed":
            store.forward(5000)

        with refused("submission.busy"):
            queue.submit(lane, thread="t", only_if_idle=True)
        assert queue.job(first.job).replaced_by is None

    @pytest.mark.parametrize("end", ["report", "cancel", "delete"])
    def test_only_if_idle_is_taken_when_everything_of_the_thread_is_finished(self, queue, lane, box_1, end):
        first = queue.submit(lane, thread="t")
        if end == "report":
            report(queue, claimed(queue, box_1))
        if end == "cancel":
            queue.cancel(first.job)
        if end == "delete":
            queue.delete(first.submission)

        assert queue.submit(lane, thread="t", only_if_idle=True).job != first.job

    def test_only_if_idle_minds_its_own_thread_alone(self, queue, lane):
        queue.submit(lane, thread="t")

        assert queue.submit(lane, thread="u", only_if_idle=True)
        assert queue.submit(lane, only_if_idle=True)

    def test_the_key_is_asked_before_the_mode(self, queue, lane):
        first = queue.submit(lane, thread="t", key="k", only_if_idle=True)

        assert queue.submit(lane, thread="t", key="k", only_if_idle=True).job == first.job
        with refused("submission.key.reused"):
            queue.submit(lane, thread="t", key="k", only_if_idle=True, content="d")

    def test_a_refused_request_leaves_its_key_free(self, queue, lane):
        busy = queue.submit(lane, thread="t")
        with refused("submission.busy"):
            queue.submit(lane, thread="t", key="k", only_if_idle=True)
        queue.cancel(busy.job)

        assert not queue.submit(lane, thread="t", key="k", content="quite another", only_if_idle=True).existing

    def test_an_urgent_one_replaces_everything_of_the_thread_that_nobody_holds(self, queue, lane, box_1):
        held, *waiting = [queue.submit(lane, thread="t") for _ in range(3)]
        claimed(queue, box_1)
        elsewhere = queue.submit(lane, thread="u")
        urgent = queue.submit(lane, thread="t", urgent=True)

        assert states(queue, held.job, *(receipt.job for receipt in waiting)) == ["running", "superseded", "superseded"]
        assert {queue.job(receipt.job).replaced_by for receipt in waiting} == {urgent.job}
        assert states(queue, urgent.job, elsewhere.job) == ["queued", "queued"]

    def test_an_urgent_one_keeps_what_is_admitted(self, queue, lane, box_1):
        first = queue.submit(lane, thread="t")
        handout = claimed(queue, box_1)
        progress(queue, handout, "outside-1")
        release(queue, handout)
        urgent = queue.submit(lane, thread="t", urgent=True)

        assert states(queue, first.job, urgent.job) == ["queued", "queued"]
        assert claimed(queue, box_1).job == first.job

    def test_an_urgent_one_replaces_an_urgent_one_that_waits(self, queue, lane):
        first, second = (queue.submit(lane, thread="t", urgent=True) for _ in range(2))

        assert (queue.job(first.job).state, queue.job(first.job).replaced_by) == ("superseded", second.job)

    def test_an_ordinary_one_replaces_no_other_submission(self, queue, lane):
        receipts = [queue.submit(lane, thread="t") for _ in range(3)]

        assert states(queue, *(receipt.job for receipt in receipts)) == ["queued"] * 3

    def test_one_key_from_eight_clients_at_once_is_one_submission(self, store, lane):
        receipts = at_once(store, *[lambda client: client.submit(lane, key="k")] * 8)

        assert len({receipt.submission for receipt in receipts}) == 1
        assert [receipt.existing for receipt in receipts].count(False) == 1

    def test_one_only_if_idle_request_from_eight_clients_at_once_is_one_receipt(self, store, lane):
        """The key is asked before the mode, for whoever waited as well."""
        receipts = at_once(store, *[lambda client: client.submit(lane, key="k", thread="t", only_if_idle=True)] * 8)

        assert codes(receipts) == [""] * 8
        assert len({receipt.submission for receipt in receipts}) == 1

    def test_one_key_for_eight_threads_at_once_is_one_submission_and_refusals(self, store, lane):
        acts = [lambda client, n=n: client.submit(lane, key="k", thread=f"t{n}") for n in range(8)]

        assert sorted(codes(at_once(store, *acts))) == [""] + ["submission.key.reused"] * 7

    def test_of_eight_only_if_idle_at_once_one_is_taken(self, store, lane):
        acts = [lambda client: client.submit(lane, thread="t", only_if_idle=True)] * 8

        assert sorted(codes(at_once(store, *acts))) == [""] + ["submission.busy"] * 7

    def test_of_eight_urgent_ones_at_once_the_latest_is_left(self, store, queue, lane, box_1):
        receipts = at_once(store, *[lambda client: client.submit(lane, thread="t", urgent=True)] * 8)

        left = [receipt.job for receipt in receipts if queue.job(receipt.job).state == "queued"]
        assert len(left) == 1
        assert claimed(queue, box_1).job == left[0]
