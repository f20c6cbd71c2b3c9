"""Two organizations with one of everything each, for tests of what one may learn of the other."""

import itertools
import json
import re
from typing import Any
from urllib.parse import quote

from django.contrib.admin.utils import quote as admin_quote
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from contests import routing
from contests.models import Activity, Operator, Organization, Participant, Publication, Round
from contests.submit import submit
from judging import queue, rejudging
from judging.models import Delivery, Job, Lane, Problem, ProblemVersion, Rejudging, Submission, Verification
from judging.queue import Report, SourceFile
from judging.rejudging import Wanted
from tests import factories

ROLES = ["administrator", "contest operator", "judge", "observer"]
OWNED = {
    "judging.Job": "job",
    "judging.Submission": "submission",
    "judging.Lane": "lane",
    "judging.Delivery": "delivery",
    "judging.Problem": "problem",
    "judging.ProblemVersion": "version",
    "judging.Rejudging": "rejudging",
    "judging.Verification": "verification",
    "contests.Organization": "organization",
    "contests.Activity": "activity",
    "contests.Round": "round",
    "contests.Assignment": "assignment",
    "contests.Participant": "participant",
    "contests.Publication": "publication",
}
"""What belongs to an organization, and which of a house it is."""
SILENT = {"Date", "Expires", "Set-Cookie", "Content-Length"}
BY_LOT = re.compile(r'name="csrfmiddlewaretoken" value="\w+"|csrfToken[^,]*|nonce="[^"]*"|name="_again" value="[^"]*"')
_names = itertools.count(1)


class House:
    """One organization with one of everything, whose names all begin with its own word."""

    def __init__(self, word, box):
        self.word = word
        self.organization = Organization.objects.create(slug=word, name=f"{word} school")
        self.activity = Activity.objects.create(organization=self.organization, slug=f"{word}-cup", title=f"{word} cup")
        self.round = Round.objects.create(activity=self.activity, title=f"{word} heat")
        self.problem = Problem.objects.create(organization=self.organization.id, slug=f"{word}-sum", title=f"{word} sum")
        self.version = ProblemVersion.objects.create(problem=self.problem, number=1, package=factories.package())
        self.assignment = routing.assign(self.round, self.problem, slug="A")
        self.lane = self.assignment.lane
        self._play(word, box)
        self._operate(word)

    def _play(self, word, box):
        """A pupil sends something in, and it is judged."""
        user = User.objects.create_user(f"{word}-pupil")
        self.participant = Participant.objects.create(activity=self.activity, user=user, name=f"{word} pupil")
        self.source = factories.stored_file(f"{word} source".encode())
        files = (SourceFile("source", f"{word}.py", self.source.id, self.source.sha256),)
        receipt = submit(self.participant, self.assignment, files=files, props=json.dumps({"language": word}), key=None)
        self.submission = Submission.objects.get(id=receipt.submission)
        claimed = factories.claimed(box)
        queue.report(claimed.row.id, Report(verdict=f"{word} verdict", score=1.0), token=claimed.row.token, runner=box.id)
        self.job = Job.objects.get(id=receipt.job)
        self.delivery = Delivery.objects.get(job=self.job)

    def _operate(self, word):
        """Operators rejudge it, verify its problem and publish."""
        wanted = Wanted(reason=f"{word} tests", organization=self.organization.id, aside=True)
        self.rejudging = Rejudging.objects.get(id=rejudging.begin([self.submission.id], by="user:1", wanted=wanted))
        lane = Lane.objects.create(problem=self.problem, problem_type=self.problem.problem_type, pools=["default"])
        self.verification = Verification.objects.create(version=self.version, lane=lane, by="user:1", reason=f"{word} tests")
        self.publication = Publication.objects.create(
            activity=self.activity,
            number=1,
            at=self.job.created_at,
            by="user:1",
            reason=f"{word} end",
            document=f"{word} results",
            anchor=word,
        )

    def account(self, role):
        """A browser of an operator of this house."""
        user = User.objects.create_user(f"{role}-{next(_names)}", password="secret", is_staff=True)
        user.groups.add(Group.objects.get(name=role))
        Operator.objects.create(user=user, organization=self.organization)
        client = Client()
        client.force_login(user)
        return client


def route(label, page, *args) -> str:
    """The address of a page of the admin site."""
    return reverse(f"admin:{label.lower().replace('.', '_')}_{page}", args=args)


def houses() -> tuple[House, House]:
    """Ours and theirs."""
    box = factories.box()
    return House("ours", box), House("theirs", box)


def said(answer: Any, *ids: object) -> tuple[object, ...]:
    """All that one answer tells: status, headers, body, cookies by name, without these ids and what is drawn by lot anew."""
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    headers = sorted((name, value) for name, value in answer.headers.items() if name not in SILENT)
    told = f"{headers}\n{sorted(answer.cookies)}\n{BY_LOT.sub('', body.decode('utf-8', 'replace'))}"
    for id_ in sorted(map(str, ids), key=len, reverse=True):
        for written in {id_, quote(id_), admin_quote(id_)}:
            told = re.sub(rf"(?<![\w-]){re.escape(written)}(?![\w-])", "…", told)
    return answer.status_code, *told.splitlines()
