"""GET /v0/projects/{problem}/jobs/{job}, for operators (seed 001)."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from judging import queue
from judging.channel import frames
from tests import factories
from tests.channel.conftest import claimed_by, outcome_of, token_of

OUTPUT = frames.document([frames.Iteration(0, "hello", "", {"out.txt": "1"})])


@pytest.fixture
def operator(transactional_db):
    user = User.objects.create_user("jury", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_job"))
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def work(transactional_db):
    return factories.work()


def read(client, work, job):
    return client.get(f"/v0/projects/{work.problem.id}/jobs/{job}")


def test_a_job_is_told_from_its_beginning_to_its_output(operator, work):
    job = factories.submission(work).job
    box = factories.box()
    seen = [read(operator, work, job).json()]
    row = claimed_by(box.id)
    seen.append(read(operator, work, job).json())
    queue.start(job, token=token_of(row))
    seen.append(read(operator, work, job).json())
    outcome = outcome_of(job, box.id, OUTPUT)
    seen.append(read(operator, work, job).json())
    queue.process(outcome)
    seen.append(read(operator, work, job).json())

    assert [one["status"] for one in seen] == ["pending", "claimed", "running", "completed", "failed"]
    last = seen[-1]
    assert (last["uuid"], last["project"], last["runner"]) == (str(job), str(work.problem.id), str(box.id))
    assert last["createdAt"] < last["claimedAt"] < last["startedAt"] < last["finishedAt"]
    assert last["output"] == {"results": [{"exit_code": 0, "stdout": "hello", "stderr": "", "output": {"out.txt": "1"}}]}
    assert last["reason"] == "the output makes no result: no JSON object with a verdict was found in the files or in stdout"
    assert "output" not in seen[2]


def test_a_judged_job_is_processed_and_a_cancelled_one_is_canceled(operator, work):
    job, other = factories.submission(work).job, factories.submission(work).job
    box = factories.box()
    row = claimed_by(box.id)
    output = frames.document([frames.Iteration(0, '{"verdict": "Accepted"}')])
    queue.process(outcome_of(row.id, box.id, output))
    queue.cancel(other, by="user:1", reason="a wrong problem")

    assert read(operator, work, job).json()["status"] == "processed"
    assert read(operator, work, other).json()["status"] == "canceled"


def test_who_is_no_operator_sees_nothing(work):
    job = factories.submission(work).job
    anonymous, participant = Client(), Client()
    user = User.objects.create_user("team")
    participant.force_login(user, backend="django.contrib.auth.backends.ModelBackend")

    assert read(anonymous, work, job).status_code == 401
    assert read(participant, work, job).status_code == 403


def test_what_is_not_there_is_not_found(operator, work):
    job = factories.submission(work).job
    other = factories.work()

    assert read(operator, other, job).status_code == 404
    assert read(operator, work, "nonsense").status_code == 404
    assert operator.post(f"/v0/projects/{work.problem.id}/jobs/{job}").status_code == 405
