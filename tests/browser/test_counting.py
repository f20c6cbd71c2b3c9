"""What counts and what does not, in a real browser: a voided result, a submission that is left out."""

import pytest

from judging.models import Job, Submission
from tests.browser.asking import answer, asked, told

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_result_is_voided_and_the_story_of_its_job_says_why(visit, log_in, shoot, scene):
    page = visit()
    log_in(page, f"/admin/judging/job/{scene.judged.id}/change/")

    dialog = asked(page, "Void the result")
    shoot(page, "void-a-result")
    answer(dialog, "Void the result", reason="The checker was broken", password="correct horse")

    told(page, "The result no longer counts.")
    line = page.get_by_role("listitem").filter(has_text="The result was voided: it no longer counts.")
    assert "The checker was broken" in line.inner_text()
    assert "operator" in line.inner_text()
    assert Job.objects.get(id=scene.judged.id).voided_at is not None
    shoot(page, "result-voided")


def test_a_submission_is_excluded_with_a_reason_and_counted_again(visit, log_in, shoot, scene):
    sent = scene.judged.submission_id
    page = visit()
    log_in(page, f"/admin/judging/submission/{sent}/change/")

    answer(asked(page, "Exclude"), "Exclude it", reason="Copied from a neighbour")
    told(page, "excluded: does not count")
    told(page, "Copied from a neighbour")
    excluded = Submission.objects.get(id=sent).excluded_at
    shoot(page, "submission-excluded")
    answer(asked(page, "Count again"), "Count it", reason="It was their own")
    told(page, "The submission counts again.")

    assert excluded is not None
    assert Submission.objects.get(id=sent).excluded_at is None
