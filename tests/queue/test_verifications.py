"""Verifications among threads: however many sweep, cancel and judge at once, each of the jury's submissions is sent in once
and ends, and the contest's work goes first."""

import io
import zipfile
from functools import partial

import pytest

from judging import queue, verification
from judging.audit import audit
from judging.models import AuditResult, Job, Submission, Verification
from judging.queue.process import process
from judging.queue.verify import send_in, verify
from judging.states import OPEN
from judging.verification import Wanted
from tests import factories
from tests.kill.scenes import OUTPUT
from tests.meeting import in_threads
from tests.queue.conftest import OPERATOR, claimed, report, token_of

pytestmark = pytest.mark.django_db(transaction=True)
CONFIG = "limits: {timeMs: 1000, memoryBytes: 67108864}\ngroups: [{group: 1, points: 1}]\n"
MANY = 6


@pytest.fixture
def begun(transactional_db, settings, tmp_path):
    """Begins a verification of MANY submissions, of which none is sent in yet; `cap` is how often each may be handed out."""
    settings.STORAGES = settings.STORAGES | {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": tmp_path}}
    }

    def begin(cap: int = 5) -> Verification:
        raw = io.BytesIO()
        with zipfile.ZipFile(raw, "w") as archive:
            files = {"config.yml": CONFIG, "tests/1a.in": "1 2\n", "tests/1a.out": "3\n"}
            files |= {f"submissions/accepted/{n}.py": f"print({n})\n" for n in range(MANY)}
            for name, text in files.items():
                archive.writestr(name, text)
        version = factories.work(package=factories.package(raw.getvalue()), cap=cap).version
        return Verification.objects.get(id=verification.begin(version.id, by=OPERATOR, wanted=Wanted(reason="new tests")))

    return begin


def states(batch):
    return sorted(batch.items.values_list("state", flat=True))


def test_many_workers_at_once_send_each_in_once(begun):
    batch = begun()
    items = list(batch.items.values_list("id", flat=True))

    done = in_threads(*[lambda: sum(send_in(item) for item in items)] * 4)

    assert sum(done) == MANY
    assert (Submission.objects.count(), Job.objects.count()) == (MANY, MANY)
    assert states(batch) == ["sent"] * MANY


@pytest.mark.parametrize("round_", range(4))
def test_a_cancel_among_workers_and_judges_leaves_nothing_open_and_nothing_unsaid(begun, round_):
    batch, box = begun(), factories.box()

    def judge():
        for _ in range(MANY):
            job = queue.claim(box.id)
            if isinstance(job, queue.ClaimedJob):
                report(job)

    in_threads(verify, verify, judge, partial(verification.cancel, batch.id, by=OPERATOR))
    for _ in range(3):
        verify()

    batch.refresh_from_db()
    assert batch.state == "cancelled"
    assert not Job.objects.filter(state__in=OPEN).exists()
    assert not {"waiting", "sent"} & set(states(batch))
    assert Submission.objects.count() == batch.items.exclude(submission=None).count()
    assert audit().result == AuditResult.EQUAL


def test_an_outcome_that_waits_to_become_a_result_is_not_compared_before_it_is_one(begun, clock):
    """Contact was lost and the job failed; what its runner sent after all is stored, and processed a moment later."""
    batch, box = begun(cap=1), factories.box()
    verify()
    job = queue.claim_on_channel(box.id)
    assert isinstance(job, queue.ClaimedJob)
    queue.start(job.row.id, token=token_of(job))
    clock.forward(seconds=600)
    queue.lose(job.row.id, token=token_of(job))
    outcome = queue.finish(job.row.id, runner=box.id, token=token_of(job), output=OUTPUT)
    assert outcome is not None

    verify()
    before = batch.items.get(job=job.row.id).state
    process(outcome)
    verify()

    assert (before, batch.items.get(job=job.row.id).state) == ("sent", "kept")


def test_the_contests_work_overtakes_all_of_the_jurys(begun):
    begun()
    verify()
    contest = factories.submission()
    first = claimed(factories.box().id)

    assert first.row.id == contest.job
