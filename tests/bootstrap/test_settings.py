"""What the settings promise whoever installs this: nothing is guessed in production, programs are never redirected."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from config import launch

PRODUCTION = {
    "PATH": os.environ["PATH"],
    "DATABASE_URL": "postgresql://assize@db.example/assize",
    "ASSIZE_SECRET_KEY": "k" * 20 + "0123456789-abcdefghijklmnopqrstuvwxyz",
    "ASSIZE_HOSTS": "judge.example",
}


def tell(expression: str, environment: dict[str, str]) -> str:
    """Load the settings in a process of their own; what the expression says about them, or the refusal."""
    code = f"from config import settings as s; print({expression})"
    asked = subprocess.run([sys.executable, "-c", code], cwd=launch.PROJECT, env=environment, capture_output=True, text=True, check=False)
    return (asked.stdout or asked.stderr.splitlines()[-1]).strip()


def without(name: str) -> dict[str, str]:
    return {key: value for key, value in PRODUCTION.items() if key != name}


def test_production_is_locked():
    locked = "s.PRODUCTION, s.DEBUG, s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_SSL_REDIRECT, s.OPERATOR_2FA"

    assert tell(locked, PRODUCTION) == "True False True True True True"


def test_production_needs_a_secret():
    assert "ASSIZE_SECRET_KEY" in tell("s.SECRET_KEY", without("ASSIZE_SECRET_KEY"))


def test_the_secret_of_a_development_machine_is_kept_for_its_user_alone(tmp_path):
    environment = without("ASSIZE_SECRET_KEY") | {"ASSIZE_DEBUG": "1", "ASSIZE_DATA": str(tmp_path)}

    first, second = tell("s.SECRET_KEY", environment), tell("s.SECRET_KEY", environment)

    assert len(first) >= 50
    assert first == second
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


def test_the_pool_is_there_in_production_and_its_size_a_variable():
    pool = "s.DATABASES['default']['OPTIONS']['pool']"

    assert tell(f"{pool}['max_size']", PRODUCTION | {"ASSIZE_DB_POOL_MAX": "7"}) == "7"
    assert tell(pool, PRODUCTION | {"ASSIZE_DB_POOL_MAX": "0"}) == "False"
    assert tell(f"{pool}['reconnect_timeout'] < {pool}['timeout']", PRODUCTION) == "True", "a request outlasts a pause of the pool"


def test_a_number_that_is_none_is_refused_by_name():
    assert "ASSIZE_PROXIES" in tell("s.PROXIES", PRODUCTION | {"ASSIZE_PROXIES": "many"})


def test_members_of_the_database_url_that_django_does_not_know_reach_libpq():
    url = "postgresql://a:p%40ss@h1:6000/contest?sslmode=require"

    said = tell("[s.DATABASES['default'][k] for k in ('NAME', 'USER', 'PASSWORD', 'HOST', 'PORT')]", PRODUCTION | {"DATABASE_URL": url})
    assert said == "['contest', 'a', 'p@ss', 'h1', '6000']"
    assert tell("s.DATABASES['default']['OPTIONS']['sslmode']", PRODUCTION | {"DATABASE_URL": url}) == "require"


@pytest.mark.parametrize("path", ["/api/v1/health", "/api/v1/nowhere/", "/v0/runners/x/channel", "/v2/"])
def test_programs_are_never_redirected(path, settings):
    settings.SECURE_SSL_REDIRECT = True

    assert Client().get(path).status_code not in range(300, 400)


def test_people_are_sent_to_https(settings):
    settings.SECURE_SSL_REDIRECT = True

    assert Client().get("/admin/login/")["Location"] == "https://testserver/admin/login/"


def test_a_missing_slash_redirects_nobody(client):
    assert not settings.APPEND_SLASH
    assert client.get("/api/v1/health/").status_code not in range(300, 400)


def test_the_demo_announces_itself_and_its_data_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "environ", {"DATABASE_URL": "postgresql:///ours", "ASSIZE_EMBEDDED": "1"})

    launch.prepare(["demo", "--exit", "--data", str(tmp_path / "there")])

    assert os.environ["ASSIZE_DEMO"] == "1"
    assert launch.data_folder() == tmp_path / "there"


def test_the_demo_makes_no_accounts_in_a_database_that_others_may_use(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "environ", {"DATABASE_URL": "postgresql:///somewhere", "ASSIZE_DATA": str(tmp_path)})
    (tmp_path / "files").mkdir()

    with pytest.raises(SystemExit, match="passwords are published"):
        launch.prepare(["demo", "--exit", "--reset"])

    assert (tmp_path / "files").exists()
    assert "ASSIZE_DEMO" not in os.environ


@pytest.mark.parametrize(("word", "locked"), [("on", "True"), ("TRUE", "True"), ("", "True"), ("0", "False"), ("off", "False")])
def test_a_switch_takes_the_usual_words(word, locked):
    assert tell("s.OPERATOR_2FA", PRODUCTION | {"ASSIZE_OPERATOR_2FA": word}) == locked


def test_a_mistyped_switch_is_refused_and_not_taken_for_off():
    refused = tell("s.OPERATOR_2FA", PRODUCTION | {"ASSIZE_OPERATOR_2FA": "enabled"})

    assert "ASSIZE_OPERATOR_2FA must be" in refused
    assert "'enabled'" in refused


def test_production_needs_the_names_it_is_reached_by():
    assert "ASSIZE_HOSTS" in tell("s.ALLOWED_HOSTS", without("ASSIZE_HOSTS"))


@pytest.mark.parametrize("url", ["rubbish", "mysql://x/y"])
def test_what_is_no_address_of_a_database_is_named(url):
    assert "DATABASE_URL is no address of a PostgreSQL database" in tell("s.DATABASES", PRODUCTION | {"DATABASE_URL": url})


def test_a_reset_deletes_the_files_of_that_data_folder_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "environ", {"DATABASE_URL": "postgresql:///ours", "ASSIZE_EMBEDDED": "1"})
    kept, gone = tmp_path / "kept" / "files", tmp_path / "demo" / "files"
    for folder in (kept, gone):
        folder.mkdir(parents=True)

    launch.prepare(["demo", "--reset", f"--data={gone.parent}"])

    assert kept.exists()
    assert not gone.exists()


def test_help_starts_no_database(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "environ", {"ASSIZE_DATA": str(tmp_path)})

    for argv in ([], ["help"], ["migrate", "--help"], ["check"]):
        launch.prepare(argv)

    assert list(Path(tmp_path).iterdir()) == []
