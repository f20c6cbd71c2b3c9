"""People who work the operators' site, and things for them to see."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from judging import queue
from tests import factories
from tests.houses import houses as both


@pytest.fixture
def admin(db) -> User:
    """Somebody who may do everything."""
    return User.objects.create_superuser("root", password="secret")


@pytest.fixture
def houses(db):
    """Ours and theirs."""
    return both()


@pytest.fixture
def client(admin) -> Client:
    """The administrator's browser."""
    client = Client()
    client.force_login(admin)
    return client


@pytest.fixture
def staff(db):
    """A browser of an operator with exactly these permissions: `staff("judging.view_job", …)`."""

    def hired(*names: str, name: str = "ann") -> Client:
        user = User.objects.create_user(name, password="secret", is_staff=True)
        for each in names:
            app, codename = each.split(".")
            user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
        client = Client()
        client.force_login(user)
        return client

    return hired


@pytest.fixture
def held(db):
    """A job that a box holds: (box, claimed job)."""
    box = factories.box()
    factories.submission()
    return box, factories.claimed(box)


@pytest.fixture
def judged(held):
    """A job with a result."""
    box, claimed = held
    queue.report(claimed.row.id, queue.Report(verdict="Accepted", score=1.0), token=claimed.row.token, runner=box.id)
    return box, claimed
