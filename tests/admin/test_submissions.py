"""What operators see of submissions: sources that cannot deceive or act."""

import io
import json
import re
import uuid
import zipfile

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from judging import queue
from judging.admin import downloads
from judging.admin.collecting import NOT_ALL, safe_name
from judging.models import Attachment, Job, Submission
from tests import factories
from tests.admin.reading import told, words

pytestmark = pytest.mark.django_db
SUBMISSIONS = "/admin/judging/submission/"


def page_with(client, source, *, file_name="main.py"):
    stored = factories.stored_file(source)
    receipt = factories.submission(source=stored, file_name=file_name)
    return client.get(reverse("admin:judging_submission_change", args=[receipt.submission]))


def test_markup_in_a_source_is_text(client):
    page = page_with(client, b"<script>alert(1)</script>", file_name="<img src=x onerror=alert(2)>.py").content.decode()

    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<img src=x" not in page


def test_a_bidi_control_is_made_visible(client):
    page = page_with(client, "a = 'user\u202e \u2066// admin\u2069'".encode())

    assert "U+202E" in words(page)
    assert "\u202e" not in page.content.decode()
    assert "made visible" in words(page)


def test_bytes_that_are_no_text_are_shown_as_far_as_they_go(client):
    page = page_with(client, b"print('\xff\xfe')\x00\x1b[31m")

    assert "\ufffd" in words(page)
    assert "\u2400" in words(page)
    assert "\x1b" not in page.content.decode()


def test_a_large_source_is_cut_with_the_whole_to_download(client):
    page = page_with(client, b"x = 1\n" * 100_000)

    assert "Only the first 256 kB are shown" in words(page)
    assert len(page.content) < 4_000_000


def test_a_source_the_storage_lost_does_not_break_the_page(client):
    stored = factories.stored_file(b"lost")
    stored.sha256 = "0" * 64
    stored.save()
    receipt = factories.submission(source=stored)

    page = client.get(reverse("admin:judging_submission_change", args=[receipt.submission]))

    assert page.status_code == 200
    assert "The storage does not have it now" in words(page)


def test_a_download_is_a_file_that_no_browser_opens(client):
    stored = factories.stored_file(b"<script>alert(1)</script>")
    receipt = factories.submission(source=stored, file_name='a"; filename=x.html')

    answer = client.get(reverse("admin:judging_submission_file", args=[receipt.submission, stored.id]))

    assert b"".join(answer.streaming_content) == b"<script>alert(1)</script>"
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Content-Disposition"] == "attachment; filename*=UTF-8''a%22%3B%20filename%3Dx.html"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]


def test_a_file_of_another_submission_is_not_found(client):
    stored = factories.stored_file(b"one")
    factories.submission(source=stored)
    other = factories.submission(source=factories.stored_file(b"two"))

    assert client.get(reverse("admin:judging_submission_file", args=[other.submission, stored.id])).status_code == 404


def test_what_a_runner_left_is_listed_and_downloaded(client, held):
    box, claimed = held
    log = factories.stored_file(b"compiled", name="log", uploaded_by=box.id)
    queue.attach(claimed.row.id, token=claimed.row.token, runner=box.id, file=log.id, name="log")

    page = words(client.get(reverse("admin:judging_submission_change", args=[claimed.row.submission])))
    answer = client.get(reverse("admin:judging_submission_attachment", args=[claimed.row.submission, log.id]))

    assert Attachment.objects.count() == 1
    assert "Files that runners left" in page
    assert b"".join(answer.streaming_content) == b"compiled"


def test_the_result_s_documents_are_shown_as_text(client, held):
    box, claimed = held
    said = queue.Report(verdict="<b>Accepted</b>", extra='{"note":"<i>public</i>"}', props='{"log":"</script>"}')
    queue.report(claimed.row.id, said, token=claimed.row.token, runner=box.id)

    page = client.get(reverse("admin:judging_submission_change", args=[claimed.row.submission])).content.decode()

    assert "&lt;i&gt;public&lt;/i&gt;" in page
    assert "<b>Accepted</b>" not in page
    assert "</script>&quot;" not in page.replace("&lt;/script&gt;&quot;", "")


def test_rejudging_a_submission(client, judged):
    submission = judged[1].row.submission

    client.post(f"{SUBMISSIONS}{submission}/rejudge/", {"reason": "new tests", "mode": "urgent"})

    assert Job.objects.get(submission=submission, attempt=2).urgent
    assert told(client) == ["A new attempt was opened."]


def test_rejudging_many_submissions(client, judged):
    box = factories.box()
    other = factories.submission()
    factories.claimed(box)
    chosen = {"action": "rejudge_many", "_selected_action": [judged[1].row.submission, other.submission]}

    client.post(SUBMISSIONS, chosen | {"confirmed": "1", "reason": "new tests", "mode": "ordinary", "repeats": "1"})
    queue.work_off()

    assert Job.objects.filter(attempt=2).count() == 2


def test_withdrawing_a_submission_ends_its_jobs(client):
    receipt = factories.submission()

    client.post(f"{SUBMISSIONS}{receipt.submission}/withdraw/", {"reason": "sent by mistake"})

    assert Submission.objects.get(id=receipt.submission).deleted_at is not None
    assert Job.objects.get(id=receipt.job).state == "cancelled"


def test_the_newest_attempt_s_verdict_is_the_one_that_is_filtered_by(client, judged):
    submission = judged[1].row.submission
    before = words(client.get(f"{SUBMISSIONS}?verdict=Accepted"))
    queue.rejudge(submission, by="user:1", reason="again")

    after = words(client.get(f"{SUBMISSIONS}?verdict=Accepted"))

    assert str(submission)[-12:] in before
    assert str(submission)[-12:] not in after
    assert str(submission)[-12:] in words(client.get(f"{SUBMISSIONS}?state=queued"))


def test_a_word_of_the_props_is_filtered_by(client):
    cpp = factories.submission(props='{"language":"cpp17"}')
    python = factories.submission(props='{"language":"python3"}')

    page = words(client.get(f"{SUBMISSIONS}?props__icontains=cpp"))

    assert str(cpp.submission)[-12:] in page
    assert str(python.submission)[-12:] not in page


def left_details(client, held, content):
    """The submission's page after a runner left this as `details`."""
    box, claimed = held
    details = factories.stored_file(content, name="details", uploaded_by=box.id)
    queue.attach(claimed.row.id, token=claimed.row.token, runner=box.id, file=details.id, name="details")
    return client.get(reverse("admin:judging_submission_change", args=[claimed.row.submission]))


def test_details_are_shown_as_a_table_that_cannot_act(client, held):
    said = {"type": "batch", "score": 40, "tests": [{"no": 1, "group": "a", "status": "<b>Wrong</b>", "timeMs": 1234, "note": "a\u202eb"}]}

    page = left_details(client, held, json.dumps(said).encode())

    assert "Tests of attempt 1" in words(page)
    assert "1,234" in words(page)
    assert "&lt;b&gt;Wrong&lt;/b&gt;" in page.content.decode()
    assert "\u202e" not in page.content.decode()


@pytest.mark.parametrize("content", [b"[1]", b"no json <i>", b'{"tests":[1]}', b'{"tests":' + b"[" * 50_000, b"\xff\xfe"])
def test_details_in_another_form_are_shown_as_text(client, held, content):
    page = left_details(client, held, content)

    assert page.status_code == 200
    assert "not in the form of a table" in words(page)
    assert "<i>" not in page.content.decode()


def test_a_table_of_very_many_tests_is_cut(client, held):
    tests = [{"no": number, "status": "Accepted", "note": "x" * 500} for number in range(1500)]

    page = left_details(client, held, json.dumps({"tests": tests}).encode())

    assert "1000 more tests are in the file" in words(page)


def test_details_are_for_those_who_read_sources(staff, held):
    page = left_details(staff("judging.view_submission"), held, b'{"tests":[{"no":1,"status":"Accepted"}]}')

    assert "Tests of attempt" not in words(page)


def test_an_excluded_submission_does_not_count_until_it_is_counted_again(client, judged):
    submission = judged[1].row.submission

    client.post(f"{SUBMISSIONS}{submission}/leave-out/", {"reason": "copied"})
    excluded = words(client.get(f"{SUBMISSIONS}?counts=excluded"))
    row = Submission.objects.get(id=submission)
    client.post(f"{SUBMISSIONS}{submission}/count-again/", {"reason": "was not"})

    assert (row.excluded_at is not None, row.excluded_reason) == (True, "copied")
    assert str(submission)[-12:] in excluded
    assert Submission.objects.get(id=submission).excluded_at is None
    assert [entry.get_change_message() for entry in LogEntry.objects.order_by("id")] == [
        "The submission was excluded. copied",
        "The submission counts again. was not",
    ]


def test_an_excluded_submission_is_still_judged(client, judged):
    submission = judged[1].row.submission
    client.post(f"{SUBMISSIONS}{submission}/leave-out/", {"reason": "copied"})

    client.post(f"{SUBMISSIONS}{submission}/rejudge/", {"reason": "new tests", "mode": "ordinary"})

    assert Job.objects.get(submission=submission, attempt=2).state == "queued"


def test_excluding_twice_is_told(client, judged):
    submission = judged[1].row.submission
    for _ in range(2):
        client.post(f"{SUBMISSIONS}{submission}/leave-out/", {"reason": "copied"})

    assert "This submission is excluded already. (submission.exclusion.unchanged)" in told(client)


def archive_of(answer):
    with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_sources_of_what_was_ticked_come_as_one_archive(client):
    one = factories.submission(source=factories.stored_file(b"one"), file_name="../../etc/pa\u202esswd")
    factories.submission(source=factories.stored_file(b"two"))

    answer = client.post(SUBMISSIONS, {"action": "download_many", "_selected_action": [one.submission]})

    assert archive_of(answer) == {f"{one.submission}/0-etc_pa_sswd": b"one"}


def test_the_sources_of_a_filter_come_as_one_archive(client):
    one = factories.submission(source=factories.stored_file(b"x = 1\n" * 200_000), file_name="CON.py")
    factories.submission(factories.work(slug="other"))
    address = reverse("admin:judging_submission_sources")

    answer = client.get(f"{address}?lane__problem__id__exact={Submission.objects.get(id=one.submission).lane.problem_id}")

    assert archive_of(answer) == {f"{one.submission}/0-_CON.py": b"x = 1\n" * 200_000}


def test_a_source_that_is_lost_is_named_in_the_archive(client):
    stored = factories.stored_file(b"lost")
    stored.sha256 = "0" * 64
    stored.save()
    one = factories.submission(source=stored)

    names = archive_of(client.get(reverse("admin:judging_submission_sources")))

    assert list(names) == [f"{one.submission}/0-main.py.missing"]


def test_sources_are_collected_by_those_who_read_them(staff):
    one = factories.submission()
    observer = staff("judging.view_submission")

    listed = observer.get(reverse("admin:judging_submission_sources"))
    ticked = observer.post(SUBMISSIONS, {"action": "download_many", "_selected_action": [one.submission]})

    assert listed.status_code == 403
    assert ticked.get("Content-Type") != "application/zip"


@pytest.mark.parametrize("name", ["..", ".", "a/b", "\\\\host\\x", ".bashrc", "-rf", "nul", "COM1.txt", "x" * 500 + ".cpp", "\U0001f600"])
def test_a_name_in_an_archive_is_safe_anywhere(name):
    safe = safe_name(name)

    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}", safe)
    assert safe.split(".")[0].lower() not in {"nul", "com1", "con"}


def test_submissions_of_which_a_runner_had_an_attempt_are_found(client, judged):
    box, claimed = judged
    other = factories.submission()

    page = words(client.get(f"{SUBMISSIONS}?jobs__runner__id__exact={box.id}"))

    assert str(claimed.row.submission)[-12:] in page
    assert str(other.submission)[-12:] not in page


def test_an_archive_that_is_not_all_says_so_and_where_the_others_are(client, monkeypatch):
    monkeypatch.setattr(downloads, "MOST_SUBMISSIONS", 2)
    into = factories.work()
    for _ in range(3):
        factories.submission(into)
    factories.submission(factories.work(slug="other"))
    address = f"{reverse('admin:judging_submission_sources')}?lane__problem__id__exact={into.problem.id}"

    first = archive_of(client.get(address))
    *_, words_of_it = first.pop(NOT_ALL).decode().splitlines()
    second = archive_of(client.get(words_of_it))

    assert "at most 20,000 in one archive" in words(client.get(SUBMISSIONS))
    assert (len(first), len(second)) == (2, 1)
    assert {name.split("/")[0] for name in first | second} == {str(row.id) for row in Submission.objects.filter(lane=into.lane)}


def test_an_archive_behind_what_is_not_there_is_empty(client):
    factories.submission()
    address = reverse("admin:judging_submission_sources")

    assert archive_of(client.get(f"{address}?after=zzz")) == {}
    assert archive_of(client.get(f"{address}?after={uuid.uuid4()}")) == {}
