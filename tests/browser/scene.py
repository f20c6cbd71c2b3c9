"""A contest in full swing, as an operator finds it: something in every state that the pages show."""

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.utils import timezone

from contests import routing
from contests.models import Activity, Assignment, Participant, Round
from contests.submit import submit
from judging import queue
from judging.models import Job, ProblemVersion
from judging.queue import Report, SourceFile
from judging.states import JobState
from runners.models import Runner
from tests import factories

SOURCE = b"""#include <iostream>
// \xe2\x80\xaereversed\xe2\x80\xac by a bidi control, and a bad byte: \xff
int main() {
    long long a, b;
    std::cin >> a >> b;
    std::cout << a + b << "<script>alert(1)</script>" << std::endl;
}
"""
MACHINE = '{"cpu":"8 cores","memory":"32 GiB","note":"<img src=x onerror=alert(1)>"}'
WAITING_TYPE = "interactive@1"


@dataclass(frozen=True, slots=True)
class Scene:
    """What a test takes hold of."""

    activity: Activity
    assignments: list[Assignment]
    boxes: list[factories.Box]
    pending: factories.Box
    held: Job
    waiting: Job
    judged: Job


def play() -> Scene:
    """Set the scene. Needs a transactional test database."""
    activity, assignments = _contest()
    people = [_participant(activity, name) for name in ("Ada", "Grace", "Edsger", "Barbara")]
    boxes = [factories.box(name=f"judge-{number}", tags=("hall-a",)) for number in (1, 2, 3)]
    Runner.objects.filter(id__in=[box.id for box in boxes]).update(
        last_seen_at=Now(), machine=MACHINE, address="10.0.0.7", product="assize-agent", version="1.0"
    )
    pending = factories.pending_box(name="judge-4", tags=("hall-b",))
    Runner.objects.filter(id=pending.id).update(last_seen_at=Now(), address="10.0.0.8", machine=MACHINE)
    for number, person in enumerate(people * 2):
        _send(person, assignments[number % 2])
    judged = _judge(boxes[0], "Accepted", 100.0)
    _judge(boxes[1], "Wrong answer", 20.0)
    _judge(boxes[0], "Time limit exceeded", 0.0)
    _fail(boxes[1])
    held = factories.claimed(boxes[0])
    queue.renew(held.row.id, token=held.row.token, runner=boxes[0].id, lease_seconds=900)
    factories.claimed(boxes[1])
    _send(people[0], assignments[2])
    waiting = Job.objects.filter(lane=assignments[2].lane, state=JobState.QUEUED).get()
    queue.sweep()
    return Scene(activity, assignments, boxes, pending, Job.objects.get(id=held.row.id), waiting, Job.objects.get(id=judged))


def _contest():
    now = timezone.now()
    activity = Activity.objects.create(
        slug="finals-2026", title="Finals 2026", opens_at=now - timedelta(hours=1), closes_at=now + timedelta(hours=4), pools=["hall-a"]
    )
    main = Round.objects.create(activity=activity, position=1, title="Main round")
    assignments = []
    for slug, title, kind in (("A", "Sum", factories.STANDARD_IO), ("B", "Paths", factories.STANDARD_IO), ("C", "Guess", WAITING_TYPE)):
        work = factories.work(slug=f"{title.lower()}-2026", problem_type=kind)
        work.problem.title = title
        work.problem.save()
        ProblemVersion.objects.filter(id=work.version.id).update(package=factories.package(title.encode()))
        assignments.append(routing.assign(main, work.problem, slug=slug, config='{"limits":{"timeMs":1000}}'))
    return activity, assignments


def _participant(activity, name):
    user = User.objects.create_user(name.lower(), password="secret")
    return Participant.objects.create(activity=activity, user=user, name=name)


def _send(person, assignment):
    stored = factories.stored_file(SOURCE, name="main.cpp")
    submit(person, assignment, files=(SourceFile("source", "main.cpp", stored.id, stored.sha256),), props='{"language":"cpp17"}', key=None)


def _judge(box, verdict, score):
    job = factories.claimed(box)
    queue.report(job.row.id, Report(verdict=verdict, score=score, max_score=100.0), token=job.row.token, runner=box.id)
    return job.row.id


def _fail(box):
    job = factories.claimed(box)
    said = Report(infrastructure_failure=True, failure_reason="The disk is full: <b>no space left</b>")
    queue.report(job.row.id, said, token=job.row.token, runner=box.id)
