"""Who waits is told of what a result leaves to be judged: the report in one statement announces like every other verb."""

import importlib

import pytest

from judging.wake import Judged, Work
from tests.queue.conftest import claimed, report

module = importlib.import_module("judging.queue.report")  # the package says report() by this name


@pytest.mark.parametrize("behind", [True, False], ids=["something waits behind it", "nothing waits behind it"])
def test_a_result_tells_who_waits_for_it_and_who_may_take_what_it_uncovers(hall, box_1, monkeypatch, behind):
    told = []
    receipt = hall.submit(thread_key="t")
    if behind:
        hall.submit(thread_key="t")
    job = claimed(box_1)
    monkeypatch.setattr(module, "announce", lambda *events: told.extend(events))

    report(job)

    uncovered = [Work("standard-io@1", False, frozenset({"default"}))] if behind else []
    assert told == [Judged(receipt.submission), *uncovered]
