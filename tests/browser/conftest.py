"""A real Chromium against a live server. Whatever it asks of another host, or says of an error, fails the test."""

import os
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from config import launch
from tests.browser import scene as scenes

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LAPTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def chromium():
    """The browser. Its event loop runs in this thread, where Django would otherwise refuse to reach the database."""
    from playwright.sync_api import sync_playwright

    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("ASSIZE_CHROMIUM", "/usr/bin/chromium"), args=FLAGS)
        yield browser
        browser.close()
    if before is None:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def visit(chromium, live_server):
    """Opens pages: `visit(PHONE, dark=True)`. What they load and complain of is checked when the test ends.

    `refused` is the status of a refusal that the test is about, of which the browser complains rightly.
    """
    contexts, complaints = [], []

    def opened(size=LAPTOP, *, dark=False, refused=""):
        def complain(page, said):
            if said.type in {"error", "warning"} and not (refused and refused in said.text):
                complaints.append(f"{page.url}: {said.text}")

        scheme = "dark" if dark else "light"
        context = chromium.new_context(viewport=size, color_scheme=scheme, base_url=live_server.url, timezone_id="Europe/Madrid")
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("request", lambda request: complaints.append(request.url) if not _ours(request.url, live_server.url) else None)
        page.on("console", lambda said: complain(page, said))
        page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
        contexts.append(context)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def _ours(url, server):
    return url.startswith((server, "data:"))


@pytest.fixture
def scene(transactional_db):
    """A contest in full swing."""
    return scenes.play()


@pytest.fixture
def operator(transactional_db):
    """Somebody who may do everything."""
    return User.objects.create_superuser("operator", password="correct horse")


@pytest.fixture
def log_in(operator):
    """Through the login page, as people do."""

    def logged_in(page, address="/admin/"):
        page.goto(f"/admin/login/?next={address}")
        page.get_by_label("Username").fill("operator")
        page.get_by_label("Password").fill("correct horse")
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(f"**{address}")

    return logged_in


@pytest.fixture
def shoot():
    """Keeps a picture of a page as an artefact."""
    folder = Path(os.environ.get("ASSIZE_ARTEFACTS", launch.data_folder() / "artefacts"))
    folder.mkdir(parents=True, exist_ok=True)

    def shot(page, name):
        page.screenshot(path=folder / f"{name}.png", full_page=True)

    return shot
