"""The contest that existing clients of this protocol expect, with its published passwords. Never in production."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User

from contests.demo.packages import package
from contests.demo.solutions import SOLUTIONS
from contests.models import Activity, Assignment, Organization, Participant, Round
from contests.routing import assign
from judging import queue
from judging.errors import JobStateWrong
from judging.files import store
from judging.models import Job, Problem, ProblemVersion, Submission
from judging.states import OPEN

ACTIVITY = "DEV-2026"
OPERATOR = ("admin", "admin-development-only")
STUDENTS = (("student", "student-development-only"), ("student2", "student-development-only"))


class NotHere(Exception):
    """The demo publishes passwords and must not run on this installation; the message says why."""


@dataclass(frozen=True, slots=True)
class Part:
    """A problem in its round. `config` is laid over the package's own by the runner."""

    letter: str
    slug: str
    title: str
    round: int
    config: str = ""


ROUNDS = {1: "Warm-up", 2: "Compiled languages only"}
PARTS = (
    Part("A", "sum", "Sum", 1),
    Part("B", "change", "Change", 1),
    Part("C", "guess", "Guess", 2, json.dumps({"type": "standard-io@1", "languages": ["cpp", "java"]}, separators=(",", ":"))),
)


def seed() -> Activity:
    """Make what is missing of the demo's contest; saying it again changes nothing. Raises NotHere."""
    refuse_real_installations()
    organization, _ = Organization.objects.get_or_create(slug="demo", defaults={"name": "Demo"})
    activity = _activity(organization)
    rounds = {position: _round(activity, position, title) for position, title in ROUNDS.items()}
    for part in PARTS:
        problem = _problem(organization, part)
        if not Assignment.objects.filter(round__activity=activity, slug=part.letter).exists():
            assign(rounds[part.round], problem, slug=part.letter, config=part.config)
    _account(*OPERATOR, is_staff=True, is_superuser=True)
    for name, password in STUDENTS:
        student = _account(name, password)
        Participant.objects.get_or_create(activity=activity, user=student, defaults={"name": name})
    return activity


def clear_left_over() -> int:
    """Cancel what an earlier demo was stopped over, so that this one need not judge it first; how many.

    What others sent is theirs: only the demo's own programs, sent by the student of the play.
    """
    names = {solution.file for solution in SOLUTIONS}
    played = Submission.objects.filter(
        author__in=Participant.objects.filter(activity__slug=ACTIVITY, user__username=STUDENTS[0][0]).values("id"),
        files__file_name__in=names,
    )
    left = list(Job.objects.filter(submission__in=played, state__in=OPEN).values_list("id", flat=True))
    for job in left:
        with suppress(JobStateWrong):
            queue.cancel(job, by="system", reason="left by an earlier demo")
    return len(left)


def refuse_real_installations() -> None:
    """Raise NotHere where a published password would open something real.

    Saying "demo" is not enough on a database that others use: whoever has an account there did not ask for this one.
    """
    if not (settings.DEMO or settings.DEBUG or settings.TESTING):
        raise NotHere("These are production settings, and the demo publishes its passwords.")
    ours = [OPERATOR[0], *(name for name, _ in STUDENTS)]
    others = User.objects.exclude(username__in=ours)
    if not settings.EMBEDDED and others.exists():
        raise NotHere(
            "This database has accounts that are not the demo's, and the demo publishes its passwords. "
            "Give it a folder of its own: --data DIR, without a DATABASE_URL."
        )


def _activity(organization: Organization) -> Activity:
    activity, _ = Activity.objects.get_or_create(
        slug=ACTIVITY,
        defaults={"organization": organization, "title": "Assize demo", "enrolment_open": True, "demo": True},
    )
    if not activity.demo:
        raise NotHere(f"There is an activity {ACTIVITY} that is no demo.")
    return activity


def _round(activity: Activity, position: int, title: str) -> Round:
    round_, _ = Round.objects.get_or_create(activity=activity, position=position, defaults={"title": title})
    return round_


def _problem(organization: Organization, part: Part) -> Problem:
    """The problem with the package as it is now; a changed package is a new version."""
    problem, _ = Problem.objects.get_or_create(organization=organization.id, slug=part.slug, defaults={"title": part.title})
    content = package(part.letter)
    newest = ProblemVersion.objects.filter(problem=problem).select_related("package").order_by("-number").first()
    if newest and newest.package and newest.package.sha256 == hashlib.sha256(content).hexdigest():
        return problem
    kept = store([content], name=f"{part.slug}.zip", mime_type="application/zip", most_bytes=len(content))
    ProblemVersion.objects.create(problem=problem, number=newest.number + 1 if newest else 1, package=kept)
    return problem


def _account(name: str, password: str, **rights: bool) -> User:
    """The account with its published password, whatever it was changed to."""
    user, _ = User.objects.update_or_create(username=name, defaults={**rights, "is_active": True})
    if not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    return user
