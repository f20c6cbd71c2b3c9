"""Sending in, and looking at what became of it: contests/api/submissions.py and source.py."""

import hashlib
import json
from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from contests.models import Activity, Assignment, Round
from contests.routing import assign
from judging import exclusion, files, queue
from judging.models import Job, ProblemVersion, StoredFile, Submission, SubmissionFile
from judging.queue import Report
from judging.wake import Judged, Look
from runners.keys import new_id
from tests import factories
from tests.contests.conftest import API, PYTHON, account, at_once, logged_in, multipart, operator_with, participant, program, send

pytestmark = pytest.mark.django_db(transaction=True)


def judged(box, verdict="Accepted", **more):
    job = factories.claimed(box)
    queue.report(job.row.id, Report(verdict=verdict, **more), token=job.row.token, runner=box.id)
    return job


def stored(receipt) -> bytes:
    file = SubmissionFile.objects.select_related("file").get(submission=receipt["id"]).file
    with files.open_file(file) as content:
        return content.read()


# Sending in.


def test_what_is_sent_in_is_queued_and_found_at_the_place_named(contest, student):
    answer = student.post(contest.sending, **program())
    receipt = answer.json()

    assert (answer.status_code, receipt["state"]) == (201, "queued")
    assert answer["Location"] == f"{contest.url}/submissions/{receipt['id']}"
    assert student.get(answer["Location"]).json() == receipt
    assert (receipt["problem"], receipt["fileName"]) == ("A", "main.py")
    assert [(row["attempt"], row["state"], row["deliveries"]) for row in receipt["attempts"]] == [(1, "queued", 0)]


def test_a_runner_is_handed_what_was_sent(contest, student):
    receipt = send(student, contest, source="print(5)\n", name="five.py")

    job = factories.claimed(factories.box())

    assert str(job.row.submission) == receipt["id"]
    assert json.loads(job.props) == json.loads(PYTHON)
    [file] = job.files
    assert (file["name"], file["fileName"], file["sha256"]) == ("source", "five.py", hashlib.sha256(b"print(5)\n").hexdigest())


@pytest.mark.parametrize(
    "source", [b"/* \xc4\xe3 */ int main(){}", b"int x;\x00", b"\r\n\r\n--\r\n", bytes(range(256)), "é\n".encode("utf-16")]
)
@pytest.mark.parametrize("field", ["file", "code"])
def test_every_byte_of_a_source_is_kept(contest, student, source, field):
    fields = ((field, source, "a.c" if field == "file" else None), ("fileName", "a.c", None))

    answer = student.post(contest.sending, **multipart(*fields))

    assert answer.status_code == 201
    assert stored(answer.json()) == source


@pytest.mark.parametrize("name", ["решение.cpp", "a b.py", "n" * 252 + ".py", "'; DROP TABLE x; --.c", "&#47;.c", "💯.java", "a.b.c.py"])
def test_any_name_without_separators_is_kept(contest, student, name):
    assert send(student, contest, name=name)["fileName"] == name


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("n" * 300, "at most 255 characters long"),
        ("../../etc/passwd", "free of path separators and control characters"),
        ("C:\\x.c", "free of path separators and control characters"),
        ("a\tb.py", "free of path separators and control characters"),
        ("a\x00.py", "free of path separators and control characters"),
        ("..", "free of path separators and control characters"),
        ("  ", "required and not blank: send fileName with pasted code"),
    ],
)
def test_a_name_that_breaks_a_rule_is_refused_with_it(contest, student, name, rule):
    answers = [
        student.post(contest.sending, **program(name=name)),
        student.post(contest.sending, **multipart(("code", "x", None), ("fileName", name, None))),
    ]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(422, "submission.fileName")] * 2
    assert all(answer.json()["errors"] == {"fileName": [rule]} for answer in answers)
    assert Submission.objects.count() == StoredFile.objects.exclude(name="package.zip").count() == 0


def test_pasted_code_needs_a_name(contest, student):
    answer = student.post(contest.sending, **multipart(("code", "print(3)", None)))

    assert (answer.status_code, answer.json()["code"]) == (422, "submission.fileName")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ((), "file.required"),
        ((("file", "", "a.py"),), "file.required"),
        ((("code", "", None), ("fileName", "a.py", None)), "file.required"),
        ((("file", "1", "a.py"), ("file", "2", "b.py")), "file.tooMany"),
        ((("file", "1", "a.py"), ("code", "2", None)), "file.tooMany"),
        ((("file", "1", "a.py"), ("sha256", "0" * 64, None)), "checksum_mismatch"),
        ((("file", "1", "a.py"), ("sha256", "no hash", None)), "checksum_mismatch"),
        ((("file", "1", "a.py"), ("props", "{", None)), "opaque.notJson"),
        ((("file", "1", "a.py"), ("props", b"\xff", None)), "opaque.notJson"),
        ((("file", "1", "a.py"), ("props", "[" * 50_000, None)), "opaque.notJson"),
        ((("file", "1", "a.py"), ("props", "[]", None)), "opaque.notAnObject"),
        ((("file", "1", "a.py"), ("props", json.dumps({"x": "y" * 262_144}), None)), "opaque.tooLarge"),
    ],
)
def test_what_cannot_be_followed_is_refused_and_nothing_enters(contest, student, fields, code):
    answer = student.post(contest.sending, **multipart(*fields))

    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert Submission.objects.count() == 0


def test_a_hash_that_fits_is_welcome(contest, student):
    right = hashlib.sha256(b"1").hexdigest().upper()

    assert student.post(contest.sending, **multipart(("sha256", right, None), ("file", "1", "a.py"))).status_code == 201


def test_props_travel_compact_and_empty_ones_not_at_all(contest, student):
    receipts = [send(student, contest, props=props) for props in ('{ "a": [1.50, "\\u0000\\ud800"] }', "{}", "")]

    assert [Submission.objects.get(id=receipt["id"]).props for receipt in receipts] == ['{"a":[1.50,"\\u0000\\ud800"]}', "", ""]


@pytest.mark.parametrize(
    ("body", "content_type", "code"),
    [
        (b"{}", "application/json", "request.notMultipart"),
        (b"", "", "request.notMultipart"),
        (b"x", "multipart/form-data", "request.notMultipart"),
        (b"--b\r\n", "multipart/form-data; boundary=b", "request.malformed"),
        (b"\xff" * 5000, "multipart/form-data; boundary=b", "request.malformed"),
    ],
)
def test_what_is_no_form_is_refused(contest, student, body, content_type, code):
    answer = student.post(contest.sending, body, content_type=content_type)

    assert (answer.status_code, answer.json()["code"]) == (422, code)


def test_a_source_may_be_as_large_as_the_limit_and_no_larger(contest, student, settings):
    most = settings.LIMITS.submission_bytes

    answers = [student.post(contest.sending, **program(b"x" * size)) for size in (most, most + 1, most + 2_000_000)]

    assert [answer.status_code for answer in answers] == [201, 413, 413]
    assert answers[1].json()["code"] == "payload_too_large"


def test_an_unknown_problem_and_an_unknown_activity_are_not_found(contest, student):
    places = [f"{contest.url}/problems/Z/submissions", f"{API}/activities/NONE/problems/A/submissions"]

    assert [student.post(place, **program()).status_code for place in places] == [404, 404]


def test_only_who_takes_part_may_send(contest):
    answers = [client.post(contest.sending, **program()) for client in (logged_in(account("visitor")), Client())]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [
        (403, "activity.notEnrolled"),
        (401, "unauthenticated"),
    ]


@pytest.mark.parametrize("model", [Activity, Round])
@pytest.mark.parametrize("window", [{"closes_at": -1}, {"opens_at": 3600}])
def test_outside_the_window_nothing_enters_and_nothing_is_stored(contest, student, model, window):
    model.objects.update(**{name: timezone.now() + timedelta(seconds=seconds) for name, seconds in window.items()})
    files = StoredFile.objects.count()

    answer = student.post(contest.sending, **program())

    assert (answer.status_code, answer.json()["code"]) == (409, "activity.closed")
    assert StoredFile.objects.count() == files


def test_the_limit_counts_each_participants_own(contest, student, rival):
    Assignment.objects.update(submission_limit=2)

    codes = [student.post(contest.sending, **program()).status_code for _ in range(3)]

    assert codes == [201, 201, 409]
    assert rival.post(contest.sending, **program()).status_code == 201


# The idempotency key.


def test_a_repeat_under_a_key_answers_the_first_submission(contest, student):
    first, again = (student.post(contest.sending, **program(), headers={"Idempotency-Key": "k"}) for _ in range(2))

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert Submission.objects.count() == 1


def test_a_repeat_is_answered_after_everything_closed_and_with_what_became_of_it(contest, student):
    first = student.post(contest.sending, **program(), headers={"Idempotency-Key": "k"}).json()
    judged(factories.box())
    Activity.objects.update(closes_at=timezone.now())

    again = student.post(contest.sending, **program(), headers={"Idempotency-Key": "k"})

    assert (again.status_code, again.json()["id"], again.json()["verdict"]) == (200, first["id"], "Accepted")


def test_another_program_under_a_used_key_is_refused(contest, student):
    student.post(contest.sending, **program(), headers={"Idempotency-Key": "k"})

    answer = student.post(contest.sending, **program(b"other"), headers={"Idempotency-Key": "k"})

    assert (answer.status_code, answer.json()["code"]) == (409, "submission.key.reused")


def test_a_repeat_is_the_first_submission_whatever_version_came_out_or_round_opened_since(contest, student):
    first = student.post(contest.sending, **program(), headers={"Idempotency-Key": "k"})
    problem = contest.assignment.problem
    ProblemVersion.objects.create(problem=problem, number=2, package=factories.package(b"PK second"))
    assert repeated(student, contest) == first.json()["id"]

    Round.objects.update(closes_at=timezone.now() - timedelta(hours=1))
    assign(Round.objects.create(activity=contest.activity, title="Second", position=2), problem, slug="A")
    assert repeated(student, contest) == first.json()["id"]


def repeated(client, contest) -> str:
    answer = client.post(contest.sending, **program(), headers={"Idempotency-Key": "k"})
    assert answer.status_code == 200, answer.content
    return answer.json()["id"]


def test_keys_of_two_participants_never_meet(contest, student, rival):
    answers = [client.post(contest.sending, **program(), headers={"Idempotency-Key": "k"}) for client in (student, rival)]

    assert [answer.status_code for answer in answers] == [201, 201]


def test_a_key_that_is_too_long_is_refused(contest, student):
    answers = [student.post(contest.sending, **program(), headers={"Idempotency-Key": "k" * length}) for length in (200, 201)]

    assert [answer.status_code for answer in answers] == [201, 400]


@pytest.mark.parametrize("limit", [None, 1])
def test_a_form_sent_many_times_at_once_under_one_key_is_one_submission(contest, limit):
    Assignment.objects.update(submission_limit=limit)
    user = account("hasty")
    student = logged_in(user)
    student.post(f"{contest.url}/enrolment")
    sent = {**program(), "headers": {"Idempotency-Key": "k"}}

    answers = at_once(user, lambda client: client.post(contest.sending, **sent))

    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert len({answer.json()["id"] for answer in answers}) == 1


# Looking.


def test_a_verdict_is_shown_with_its_score(contest, student):
    receipt = send(student, contest)
    judged(factories.box(), "Partial", score=40.0, max_score=100.0)

    seen = student.get(f"{contest.url}/submissions/{receipt['id']}").json()

    assert (seen["state"], seen["verdict"], seen["score"], seen["maxScore"]) == ("completed", "Partial", 40.0, 100.0)
    assert seen["attempts"][0]["deliveries"] == 1


def test_a_rejudge_speaks_once_it_is_there_and_attempts_come_newest_first(contest, student):
    receipt, box = send(student, contest), factories.box()
    judged(box, "Wrong answer")
    queue.rejudge(receipt["id"], by="user:1", reason="new tests")

    waiting = student.get(f"{contest.url}/submissions/{receipt['id']}").json()
    judged(box, "Accepted")
    after = student.get(f"{contest.url}/submissions/{receipt['id']}").json()

    assert (waiting["state"], waiting.get("verdict")) == ("queued", None)
    assert after["verdict"] == "Accepted"
    assert [(row["attempt"], row["verdict"]) for row in after["attempts"]] == [(2, "Accepted"), (1, "Wrong answer")]


def test_a_cancelled_rejudge_leaves_the_verdict_that_was(contest, student):
    receipt = send(student, contest)
    judged(factories.box(), "Accepted")
    job = queue.rejudge(receipt["id"], by="user:1", reason="")
    queue.cancel(job, by="user:1", reason="")

    seen = student.get(f"{contest.url}/submissions/{receipt['id']}").json()

    assert (seen["state"], seen["verdict"]) == ("completed", "Accepted")
    assert [row["state"] for row in seen["attempts"]] == ["cancelled", "completed"]


def test_a_voided_result_shows_no_verdict(contest, student):
    receipt = send(student, contest)
    job = judged(factories.box())
    queue.void(job.row.id, by="user:1", reason="leak")

    seen = student.get(f"{contest.url}/submissions/{receipt['id']}").json()

    assert "verdict" not in seen
    assert seen["attempts"][0]["voided"] is True


def test_reasons_and_runners_are_for_operators(contest, student, admin):
    receipt = send(student, contest)
    queue.cancel(Job.objects.get().id, by="user:1", reason="plagiarism")

    mine = student.get(f"{contest.url}/submissions/{receipt['id']}").json()["attempts"][0]
    theirs = admin.get(f"{contest.url}/submissions/{receipt['id']}").json()["attempts"][0]

    assert {"reason", "history"} & set(mine) == set()
    assert (theirs["reason"], theirs["history"]) == ("plagiarism", [])


def test_operators_see_a_lost_lease_and_who_lost_it(contest, student, admin, clock):
    receipt, lost, other = send(student, contest), factories.box(name="box-1"), factories.box(name="box-2")
    factories.claimed(lost)
    clock.forward(minutes=11)
    queue.sweep()
    judged(other)

    attempt = admin.get(f"{contest.url}/submissions/{receipt['id']}").json()["attempts"][0]

    assert [(row["number"], row["runner"], row["ending"]) for row in attempt["history"]] == [
        (1, "box-1", "expired"),
        (2, "box-2", "reported"),
    ]


def test_foreign_unknown_and_deleted_submissions_are_one_answer(contest, student, rival):
    receipt, deleted = send(student, contest), send(rival, contest)
    Submission.objects.filter(id=deleted["id"]).update(deleted_at=timezone.now())

    places = [f"{contest.url}/submissions/{id_}" for id_ in (receipt["id"], uuid4(), deleted["id"])]
    answers = [rival.get(place) for place in places]
    stranger = logged_in(account("visitor")).get(places[0])

    assert {(answer.status_code, answer.content) for answer in [*answers, stranger]} == {(404, answers[0].content)}


def test_a_submission_is_found_in_its_own_activity_only(contest, student, admin):
    Activity.objects.create(slug="OTHER", title="Other", enrolment_open=True)
    student.post(f"{API}/activities/OTHER/enrolment")
    receipt = send(student, contest)

    assert [client.get(f"{API}/activities/OTHER/submissions/{receipt['id']}").status_code for client in (student, admin)] == [404, 404]


@pytest.mark.parametrize("path", ["x", "00000000-0000-0000-0000-00000000000", "%00", "%ff", "../../x"])
def test_what_is_no_id_is_not_found(contest, student, path):
    assert student.get(f"{contest.url}/submissions/{path}").status_code == 404


def test_a_list_holds_mine_and_for_operators_everybodys_newest_first(contest, student, rival, admin):
    mine, theirs = send(student, contest), send(rival, contest)

    lists = [client.get(f"{contest.url}/submissions").json() for client in (student, rival, admin)]

    assert [[row["id"] for row in page["submissions"]] for page in lists] == [
        [mine["id"]],
        [theirs["id"]],
        [theirs["id"], mine["id"]],
    ]


def test_a_steward_without_the_permission_sees_nobodys(contest, student):
    receipt = send(student, contest)

    assert operator_with().get(f"{contest.url}/submissions/{receipt['id']}").status_code == 404


def test_a_long_list_comes_in_pages(contest, student, monkeypatch):
    monkeypatch.setattr("contests.sent.PAGE", 2)
    monkeypatch.setattr("contests.api.submissions.PAGE", 2)
    sent = [send(student, contest)["id"] for _ in range(3)]

    first = student.get(f"{contest.url}/submissions").json()
    second = student.get(f"{contest.url}/submissions", {"before": first["before"]}).json()

    assert [row["id"] for page in (first, second) for row in page["submissions"]] == sent[::-1]
    assert "before" not in second


@pytest.mark.parametrize(("before", "status"), [("x", 400), (str(new_id()), 404)])
def test_a_page_before_nothing_is_none(contest, student, before, status):
    assert student.get(f"{contest.url}/submissions", {"before": before}).status_code == status


def test_a_list_costs_the_same_however_long(contest, student, admin, django_assert_max_num_queries):
    box = factories.box()
    for _ in range(6):
        receipt = send(student, contest)
        judged(box)
        queue.rejudge(receipt["id"], by="user:1", reason="")

    for client in (student, admin):
        with django_assert_max_num_queries(11):
            assert len(client.get(f"{contest.url}/submissions").json()["submissions"]) == 6


# Waiting.


def look_at(client, place, **query):
    look = Look()
    answer = client.get(place, query, **{"asgi.scope": {"assize.look": look}})
    return answer, look


def test_who_would_wait_is_parked_until_it_is_judged(contest, student):
    receipt = send(student, contest)
    place = f"{contest.url}/submissions/{receipt['id']}"

    _, waiting = look_at(student, place, waitSeconds=20)
    judged(factories.box())
    _, finished = look_at(student, place, waitSeconds=20)

    assert (str(waiting.awaiting), waiting.wait_seconds, waiting.found_nothing) == (receipt["id"], 20, True)
    assert finished.found_nothing is False


@pytest.mark.parametrize(("asked", "wait"), [("9e99", 300), ("inf", 300), ("1.5", 1.5), ("-1", -1), ("0", 0)])
def test_odd_waits_are_clamped(contest, student, asked, wait):
    receipt = send(student, contest)

    answer, look = look_at(student, f"{contest.url}/submissions/{receipt['id']}", waitSeconds=asked)

    assert (answer.status_code, look.wait_seconds, look.found_nothing) == (200, wait, wait > 0)


@pytest.mark.parametrize("asked", ["nan", "", "soon", "\x00"])
def test_a_wait_that_is_no_number_is_refused(contest, student, asked):
    answer, look = look_at(student, f"{contest.url}/submissions/{send(student, contest)['id']}", waitSeconds=asked)

    assert (answer.status_code, look.found_nothing) == (400, False)


def test_who_waits_is_told_that_it_was_given_up_too(contest, student, clock, monkeypatch):
    receipt, box, told = send(student, contest), factories.box(), []
    monkeypatch.setattr("judging.hold.announce", lambda *events: told.extend(events))
    for _ in range(5):
        job = factories.claimed(box)
        queue.renew(job.row.id, token=job.row.token, runner=box.id)
        assert Judged(job.row.submission) not in told
        clock.forward(minutes=11)
        queue.sweep()

    assert student.get(f"{contest.url}/submissions/{receipt['id']}").json()["state"] == "failed"
    assert Judged(job.row.submission) in told


def test_nobody_waits_for_a_foreign_submission(contest, student, rival):
    receipt = send(student, contest)

    answer, look = look_at(rival, f"{contest.url}/submissions/{receipt['id']}", waitSeconds=20)

    assert (answer.status_code, look.found_nothing) == (404, False)


def test_a_participant_of_the_next_hall_is_another(contest):
    assert participant(contest, "one").get(f"{contest.url}/submissions").json() == {"submissions": []}


def test_an_excluded_submission_has_no_verdict_that_counts(contest, student):
    receipt = send(student, contest)
    judged(factories.box(), score=1.0)
    exclusion.exclude(receipt["id"], reason="copied")

    seen = student.get(f"{contest.url}/submissions/{receipt['id']}").json()

    assert seen["excluded"] is True
    assert "verdict" not in seen
    assert "score" not in seen
    assert seen["attempts"][0]["verdict"] == "Accepted"
