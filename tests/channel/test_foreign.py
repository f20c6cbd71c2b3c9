"""On the channel too, what is another's and what was made up are answered alike (queue.md §4)."""

from typing import Any
from uuid import uuid4

import pytest
from websockets.exceptions import InvalidStatus

from tests import factories
from tests.channel.conftest import ACCEPTED, claimed_by, stored

pytestmark = pytest.mark.django_db(transaction=True)
DOCUMENTS: dict[str, dict[str, Any]] = {
    "completed": {"results": ACCEPTED},
    "failed": {"results": ACCEPTED, "error": "broken"},
    "canceled": {},
}


@pytest.mark.parametrize("event", DOCUMENTS)
@pytest.mark.parametrize("held", [False, True], ids=["waiting", "held by another"])
def test_what_is_said_of_anothers_job_and_of_none_is_answered_alike(hall, wire, event, held):
    job = hall.submit()
    if held:
        claimed_by(hall.runner(name="box 2"))
    before = stored(job)

    answers = []
    for id_ in (job, uuid4()):
        told = wire.ask(event, job=id_, **DOCUMENTS[event])
        answers.append({name: "…" if value == str(id_) else value for name, value in told.items()})

    assert answers[0] == answers[1] == {"event": "ack", "job": "…"}
    assert (stored(job).state, stored(job).token, stored(job).n) == (before.state, before.token, before.n)


def test_a_runner_that_exists_and_none_refuse_a_key_alike(hall, runner):
    other = hall.runner(name="box 2")
    refusals = []

    for named in (other, uuid4(), factories.pending_box().id):
        with pytest.raises(InvalidStatus) as refused:
            hall.connect(named, key=hall.keys[runner])
        answer = refused.value.response
        headers = sorted((name, value) for name, value in answer.headers.raw_items() if name.lower() != "date")
        refusals.append((answer.status_code, headers, bytes(answer.body)))

    assert refusals[0] == refusals[1] == refusals[2]
    assert refusals[0][0] == 401
