"""A version verified by the runner pool: the jury's own submissions judged as jury work, and compared with their promises."""

import io
import json
import zipfile

import pytest
from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.urls import reverse

from contests.models import Operator, Organization
from contests.retention import prune_activities
from judging import overview, queue
from judging.audit import Scope, audit
from judging.errors import LeaseStale
from judging.files import blob_name
from judging.models import AuditResult, AuditScope, Job, Lane, Problem, ProblemVersion, Submission, Verification, VerificationItem
from judging.queue import Report
from judging.states import Priority
from tests import factories
from tests.admin.reading import told, words

pytestmark = pytest.mark.django_db
CONFIG = "limits: {timeMs: 1000, memoryBytes: 67108864}\ngroups: [{group: 1, points: 1}]\n"
STANDARD = {
    "config.yml": CONFIG,
    "tests/1a.in": "1 2\n",
    "tests/1a.out": "3\n",
    "submissions/accepted/good.py": "print(3)\n",
    "submissions/wrong_answer/bad.py": "print(4)\n",
    "submissions/time_limit_exceeded/slow.cpp": "int main() { for (;;); }\n",
}
ICPC = {
    "problem.yaml": "name: Sum\n",
    ".timelimit": "1\n",
    "problem_statement/problem.tex": "Add.\n",
    "data/secret/1.in": "1 2\n",
    "data/secret/1.ans": "3\n",
    "input_validators/v.py": "exit(42)\n",
    "submissions/accepted/many/main.py": "import other\n",
    "submissions/accepted/many/lib/other.py": "print(3)\n",
    "submissions/time_limit_exceeded/wrong_first.py": "print(4)\n",
}
VERDICTS = ("Wrong answer", "Time limit exceeded")
"""Of the two tests, for every submission."""


def version(files=STANDARD, problem_type="standard-io@1", **work):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return factories.work(problem_type=problem_type, package=factories.package(raw.getvalue()), **work).version


def address(row, act="verify"):
    return reverse("admin:judging_problemversion_change", args=[row.id]).replace("change/", f"{act}/")


def ask(client, row, **said):
    return client.post(address(row), {"reason": "new tests", "pools": ["default"]} | said)


def begun(client, row, **said):
    ask(client, row, **said)
    queue.sweep()
    return Verification.objects.order_by("-created_at").first()


def judge(box, verdicts, details=None):
    """Judge everything that waits, each by what its file is called."""
    while isinstance(job := queue.claim(box.id), queue.ClaimedJob):
        name = job.files[0]["fileName"]
        queue.report(job.row.id, Report(verdict=verdicts[name]), token=job.row.token, runner=box.id)
    queue.sweep()


def page_of(client, batch):
    return client.get(reverse("admin:judging_verification_change", args=[batch.id]))


def states(batch):
    return dict(batch.items.values_list("name", "state"))


def test_the_dialog_says_how_many_in_how_many_languages_and_changes_nothing(client):
    row = version()

    assert "3 submissions in 2 languages: 1 cpp, 2 python3." in words(client.get(address(row)))
    assert (Verification.objects.count(), Submission.objects.count()) == (0, 0)


def test_each_of_the_jury_s_submissions_becomes_a_jury_job_of_that_version(client):
    row = version()
    newer = ProblemVersion.objects.create(problem=row.problem, number=2)

    batch = begun(client, row)

    jobs = Job.objects.filter(lane=batch.lane)
    assert {(job.priority, job.version_id, job.thread.organization) for job in jobs} == {(Priority.JURY, row.id, row.problem.organization)}
    assert sorted(jobs.values_list("submission__files__file_name", flat=True)) == ["bad.py", "good.py", "slow.cpp"]
    assert newer.id != row.id


def test_participants_go_first(client):
    row = version()
    batch = begun(client, row)
    theirs = factories.submission()

    job = factories.claimed(factories.box())

    assert job.row.submission == theirs.submission
    assert batch.items.count() == 3


def test_what_was_found_is_compared_with_what_was_promised(client):
    batch = begun(client, version())

    judge(factories.box(), {"good.py": "Accepted", "bad.py": "Accepted", "slow.cpp": "Time limit exceeded"})

    batch.refresh_from_db()
    assert (batch.state, states(batch)) == (
        "done",
        {"accepted/good.py": "kept", "time_limit_exceeded/slow.cpp": "kept", "wrong_answer/bad.py": "broken"},
    )
    page = words(page_of(client, batch))
    assert "2 as promised, 1 not." in page
    assert "promised Wrong answer" in page


def test_all_as_promised_is_said_so_on_the_version_s_page(client):
    row = version()
    begun(client, row)

    judge(factories.box(), {"good.py": "Accepted", "bad.py": "Wrong answer", "slow.cpp": "Time limit exceeded"})

    assert "All 3 as promised." in words(client.get(reverse("admin:judging_problemversion_change", args=[row.id])))


def test_the_page_is_live_until_all_are_compared(client):
    batch = begun(client, version())
    box = factories.box()
    job = factories.claimed(box)

    first = page_of(client, batch)
    queue.report(job.row.id, Report(verdict="Accepted"), token=job.row.token, runner=box.id)
    queue.sweep()
    second = words(page_of(client, batch))
    judge(box, {"good.py": "Accepted", "bad.py": "Accepted", "slow.cpp": "Accepted"})
    last = page_of(client, batch).content.decode()

    assert ("being judged" in words(first), "hx-trigger" in first.content.decode()) == (True, True)
    assert "1 of 3 compared so far" in second
    assert 'id="verification" hx-get' not in last


def test_a_job_that_is_given_up_breaks_the_promise_with_its_reason(client):
    files = {name: text for name, text in STANDARD.items() if "bad" not in name and "slow" not in name}
    batch = begun(client, version(files, cap=1))
    box = factories.box()
    job = factories.claimed(box)

    said = Report(infrastructure_failure=True, failure_reason="the checker crashed")
    queue.report(job.row.id, said, token=job.row.token, runner=box.id)
    queue.sweep()

    assert list(batch.items.values_list("state", "note")) == [("broken", "given up: the checker crashed")]


def test_an_interrupted_verification_goes_on_where_it_was(client, monkeypatch):
    ask(client, version())

    queue.verify(most=1)
    sent = VerificationItem.objects.exclude(submission=None).count()
    queue.sweep()
    queue.sweep()

    assert (sent, Submission.objects.count(), Job.objects.count()) == (1, 3, 3)


def test_cancelled_it_ends_what_waits_and_what_is_held_and_sends_nothing_more_in(client):
    ask(client, version())
    queue.verify(most=2)
    box = factories.box()
    held = factories.claimed(box)
    batch = Verification.objects.get()

    client.post(reverse("admin:judging_verification_change", args=[batch.id]).replace("change/", "cancel/"), {"reason": "a mistake"})
    queue.sweep()
    queue.sweep()

    batch.refresh_from_db()
    assert batch.state == "cancelled"
    assert set(Job.objects.values_list("state", flat=True)) == {"cancelled"}
    assert sorted(states(batch).values()) == ["ended", "ended", "skipped"]
    with pytest.raises(LeaseStale):
        queue.report(held.row.id, Report(verdict="Accepted"), token=held.row.token, runner=box.id)


def test_what_a_runner_left_and_the_storage_lost_is_tried_again_until_somebody_cancels(client):
    files = {name: text for name, text in STANDARD.items() if "bad" not in name and "slow" not in name}
    batch = begun(client, version(files))
    box = factories.box()
    job = factories.claimed(box)
    left = factories.stored_file(b"{}", name="details", uploaded_by=box.id)
    default_storage.delete(blob_name(left.sha256))
    queue.report(job.row.id, Report(verdict="Accepted", files=(("details", left.id),)), token=job.row.token, runner=box.id)

    queue.sweep()
    before = states(batch)
    client.post(reverse("admin:judging_verification_change", args=[batch.id]).replace("change/", "cancel/"), {"reason": "lost"})
    queue.sweep()
    batch.refresh_from_db()

    assert (before, states(batch), batch.state) == ({"accepted/good.py": "sent"}, {"accepted/good.py": "ended"}, "cancelled")


@pytest.mark.django_db(transaction=True)
def test_the_ledger_explains_all_of_it(client):
    batch = begun(client, version())
    judge(factories.box(), {"good.py": "Accepted", "bad.py": "Wrong answer", "slow.cpp": "Time limit exceeded"})

    outcome = audit(Scope(AuditScope.LANES, lanes=(batch.lane_id,)))

    assert (outcome.result, outcome.threads) == (AuditResult.EQUAL, 3)


def test_it_is_repeated_by_asking_again_but_not_while_one_goes_on(client):
    row = version()
    first = begun(client, row)

    ask(client, row)
    refused = told(client)[-1]
    judge(factories.box(), {"good.py": "Accepted", "bad.py": "Wrong answer", "slow.cpp": "Time limit exceeded"})
    again = begun(client, row)

    assert "verification.busy" in refused
    assert again.id != first.id
    assert again.items.count() == 3


def test_its_work_is_in_no_assignment_and_in_no_statistic(client):
    factories.submission()
    judge(factories.box(), {"main.py": "Accepted"})
    before = [(minute.judged, minute.failed) for minute in overview.tempo()]
    batch = begun(client, version())

    judge(factories.box(), {"good.py": "Accepted", "bad.py": "Wrong answer", "slow.cpp": "Accepted"})

    assert [(minute.judged, minute.failed) for minute in overview.tempo()] == before
    assert not Submission.objects.filter(lane=batch.lane, author__isnull=False).exists()
    assert not Lane.objects.filter(id=batch.lane_id, assignment__isnull=False).exists()


def test_a_package_without_submissions_says_so(client):
    ask(client, version({name: text for name, text in STANDARD.items() if "submissions" not in name}))

    assert "verification.empty" in told(client)[-1]
    assert Lane.objects.filter(priority=Priority.JURY).count() == 0


def test_an_icpc_package_without_a_time_limit_needs_one_in_the_configuration(client):
    row = version({name: text for name, text in ICPC.items() if name != ".timelimit"}, "icpc@1")

    ask(client, row)
    refused = told(client)[-1]
    ask(client, row, config='{"limits": {"timeMs": 900}}')

    assert "limits.timeMs" in refused
    assert json.loads(Verification.objects.get().lane.config) == {"allTests": True, "limits": {"timeMs": 900}}


def test_a_submission_of_several_files_travels_whole(client):
    begun(client, version(ICPC, "icpc@1"))

    job = factories.claimed(factories.box(problem_types=("icpc@1",)))

    assert [(file["name"], file["fileName"]) for file in job.files] == [("source", "main.py"), ("beside-1", "lib/other.py")]


def test_the_verdict_of_each_test_decides_where_the_promise_is_about_tests(client):
    batch = begun(client, version(ICPC, "icpc@1"))
    box = factories.box(problem_types=("icpc@1",))
    while isinstance(job := queue.claim(box.id), queue.ClaimedJob):
        tests = [{"no": n, "group": "secret", "status": each, "timeMs": 1, "note": f"secret/{n}"} for n, each in enumerate(VERDICTS, 1)]
        document = {"type": "icpc@1", "verdict": "Wrong answer", "maxScore": 1, "tests": tests}
        left = factories.stored_file(json.dumps(document).encode(), name="details", uploaded_by=box.id)
        said = Report(verdict="Wrong answer", files=(("details", left.id),))
        queue.report(job.row.id, said, token=job.row.token, runner=box.id)
    queue.sweep()

    assert states(batch) == {"accepted/many": "broken", "time_limit_exceeded/wrong_first.py": "kept"}


@pytest.mark.parametrize("details", [b"", b"nonsense", b"[]", b'{"tests": 3}', b'{"tests": [{}]}', b"\xff" * 10])
def test_details_that_are_nonsense_leave_the_verdict_alone_to_be_compared(client, details):
    batch = begun(client, version())
    box = factories.box()
    while isinstance(job := queue.claim(box.id), queue.ClaimedJob):
        files = (("details", factories.stored_file(details, name="details", uploaded_by=box.id).id),) if details else ()
        queue.report(job.row.id, Report(verdict="Accepted", files=files), token=job.row.token, runner=box.id)
    queue.sweep()

    assert sorted(states(batch).values()) == ["broken", "broken", "kept"]


def test_only_whoever_may_verifies(staff):
    row = version()

    assert ask(staff("judging.view_problemversion"), row).status_code == 403


def test_a_get_begins_nothing(client):
    client.get(address(version()))

    assert Verification.objects.count() == 0


def test_a_package_of_another_type_is_not_offered(client):
    row = version(problem_type="essay@7")

    assert "Verify" not in words(client.get(reverse("admin:judging_problemversion_change", args=[row.id])))


def test_a_reason_is_asked(client):
    ask(client, version(), reason="")

    assert Verification.objects.count() == 0


def test_old_jobs_of_verifications_that_are_over_are_removed_and_what_was_found_stays(client, clock):
    row = version()
    batch = begun(client, row)
    judge(factories.box(), {"good.py": "Accepted", "bad.py": "Wrong answer", "slow.cpp": "Time limit exceeded"})
    clock.forward(days=40)

    assert prune_activities() == 3
    assert "All 3 as promised." in words(page_of(client, batch))


def test_an_operator_of_one_organization_uses_the_pools_it_was_given(staff):
    house = Organization.objects.create(slug="ours", name="Ours")
    row = version()
    Problem.objects.filter(id=row.problem_id).update(organization=house.id)
    Lane.objects.filter(problem=row.problem_id).update(pools=["hall"])
    client = staff("judging.view_problemversion", "judging.verify_problemversion", "judging.view_verification")
    Operator.objects.create(user=User.objects.get(username="ann"), organization=house)

    asked = client.get(address(row)).content.decode()
    ask(client, row, pools=["theirs"], more="mine")

    assert 'name="pools"' not in asked
    assert Verification.objects.get().lane.pools == ["hall"]
