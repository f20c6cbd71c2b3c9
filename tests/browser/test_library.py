"""Problems in a real browser: a package is uploaded and looked over, and the pool verifies what it promises."""

import io
import re
import zipfile

import pytest
from django.db.models.functions import Now

from judging import queue
from judging.models import ProblemVersion, StoredFile, Verification
from judging.queue import Report
from runners.models import Runner
from tests import factories
from tests.browser.asking import answer, asked, told

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
BROKEN = {"config.yml": "a: 1\nb: [", "tests/limits.json": '{\n "a": 1,\n}'}
WHOLE = {
    "config.yml": "limits: {timeMs: 1000, memoryBytes: 67108864}\ngroups: [{group: 1, points: 1}]\n",
    "tests/1a.in": "1 2\n",
    "tests/1a.out": "3\n",
    "submissions/accepted/good.py": "print(3)\n",
    "submissions/wrong_answer/bad.py": "print(4)\n",
}


def zipped(files):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return raw.getvalue()


def uploaded(files):
    return {"name": "package.zip", "mimeType": "application/zip", "buffer": zipped(files)}


def test_a_broken_package_is_told_with_file_and_line_and_a_whole_one_is_kept(visit, log_in, shoot):
    problem = factories.work(slug="sum-2026").problem
    page = visit()
    log_in(page, f"/admin/judging/problem/{problem.id}/change/")

    dialog = asked(page, "New version")
    dialog.locator("input[type=file]").set_input_files(uploaded(BROKEN))
    answer(dialog, "Publish it", reason="new tests")
    dialog.get_by_text("config.yml:2: It is not YAML").wait_for()
    assert dialog.get_by_text("tests/limits.json:3: It is not JSON").is_visible()
    assert (ProblemVersion.objects.count(), StoredFile.objects.count()) == (1, 0)
    shoot(page, "package-with-faults")
    dialog.locator("input[type=file]").set_input_files(uploaded(WHOLE))
    dialog.get_by_role("button", name="Publish it").click()

    told(page, "sum-2026 has version 2 now.")
    assert ProblemVersion.objects.filter(number=2, package__size_bytes=len(zipped(WHOLE))).exists()


def test_a_version_is_verified_by_the_pool_and_its_summary_is_seen_live(visit, log_in, shoot):
    version = factories.work(slug="sum-2026", package=factories.package(zipped(WHOLE))).version
    box = factories.box(name="judge-1")
    Runner.objects.filter(id=box.id).update(last_seen_at=Now())
    page = visit()
    log_in(page, f"/admin/judging/problemversion/{version.id}/change/")

    dialog = asked(page, "Verify")
    dialog.get_by_text("2 submissions in 1 language: 2 python3.").wait_for()
    assert dialog.get_by_text("In default: 1 connected runner, 1 idle.").is_visible()
    shoot(page, "verify-a-version")
    answer(dialog, "Judge and compare", reason="new tests")
    told(page, "The verification was begun")
    page.get_by_role("link", name="open", exact=True).click()
    told(page, "0 of 2 compared so far")
    page.evaluate("window.same = true")
    queue.sweep()
    judge(box, "Accepted")
    queue.sweep()
    told(page, re.compile("1 of 2 compared so far"))
    judge(box, "Accepted")
    queue.sweep()

    told(page, "1 as promised, 1 not.")
    assert page.evaluate("window.same")
    assert Verification.objects.get().state == "done"
    shoot(page, "verification")


def judge(box, verdict):
    job = factories.claimed(box)
    queue.report(job.row.id, Report(verdict=verdict), token=job.row.token, runner=box.id)
