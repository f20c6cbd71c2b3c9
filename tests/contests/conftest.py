"""People and a contest: an open activity with one problem, who takes part, who runs it, and what they send."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connections
from django.test import Client

from contests.models import Activity, Assignment, Organization, Participant, Round
from contests.routing import assign
from judging.models import Problem, ProblemVersion
from tests import factories

PASSWORD = "a-long-password"
API = "/api/v1"


@pytest.fixture(autouse=True)
def _files_apart(settings, tmp_path):
    settings.STORAGES = settings.STORAGES | {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": tmp_path}}
    }


@dataclass(frozen=True)
class Contest:
    """An activity with one round and one problem, and the addresses below it."""

    activity: Activity
    round: Round
    assignment: Assignment

    @property
    def url(self) -> str:
        return f"{API}/activities/{self.activity.slug}"

    @property
    def sending(self) -> str:
        return f"{self.url}/problems/{self.assignment.slug}/submissions"


@pytest.fixture
def contest(transactional_db) -> Contest:
    organization = Organization.objects.create(slug="school", name="A school")
    activity = Activity.objects.create(organization=organization, slug="SPRING", title="Spring", enrolment_open=True)
    round_ = Round.objects.create(activity=activity, title="First")
    problem = Problem.objects.create(organization=organization.id, slug="sum", title="Sum")
    ProblemVersion.objects.create(problem=problem, number=1, package=factories.package())
    return Contest(activity, round_, assign(round_, problem, slug="A"))


def account(name: str, **more) -> User:
    return User.objects.create_user(name, password=PASSWORD, **more)


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def at_once(user: User, act: Callable[[Client], Any], *, clients: int = 4) -> list[Any]:
    """The answers to an account that does this in so many browsers at one moment."""
    answers: list[Any] = []
    together = threading.Barrier(clients)

    def do() -> None:
        client = logged_in(user)
        together.wait()
        answers.append(act(client))
        connections.close_all()

    threads = [threading.Thread(target=do) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def participant(contest: Contest, name: str) -> Client:
    user = account(name)
    Participant.objects.create(activity=contest.activity, user=user, name=name)
    return logged_in(user)


@pytest.fixture
def student(contest) -> Client:
    return participant(contest, "student")


@pytest.fixture
def rival(contest) -> Client:
    return participant(contest, "rival")


@pytest.fixture
def admin(transactional_db) -> Client:
    return logged_in(account("admin", is_staff=True, is_superuser=True))


def operator_with(*permissions: str) -> Client:
    """Somebody on the staff with these permissions and no others."""
    user = account("steward", is_staff=True)
    for name in permissions:
        app, codename = name.split(".")
        user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
    return logged_in(user)


def multipart(*fields: tuple[str, bytes | str, str | None], boundary: str = "b0undary") -> dict:
    """The arguments of a POST with these (name, content, file name or None), each byte as given."""
    body = b""
    for name, content, file_name in fields:
        named = f'; filename="{file_name}"' if file_name is not None else ""
        raw = content.encode() if isinstance(content, str) else content
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'.encode() + raw + b"\r\n"
    return {"data": body + f"--{boundary}--\r\n".encode(), "content_type": f"multipart/form-data; boundary={boundary}"}


PYTHON = json.dumps({"type": "standard-io@1", "language": "python3"})


def program(source: bytes | str = b"print(3)\n", *, name: str = "main.py", props: str = PYTHON) -> dict:
    """The arguments of a POST that sends one file in."""
    return multipart(("props", props, None), ("file", source, name))


def send(client: Client, contest: Contest, **more) -> dict:
    """Send a program in; the receipt."""
    answer = client.post(contest.sending, **program(**more))
    assert answer.status_code == 201, answer.content
    return answer.json()
