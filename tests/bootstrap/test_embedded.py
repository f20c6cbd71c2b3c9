"""The embedded PostgreSQL: who starts it, who ends it, and what it survives."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from config import embedded
from config.embedded import binaries, holding, server
from config.embedded.account import Account, account_for
from config.embedded.place import Place, reach

# Holds the server until its standard input ends.
HOLD = """
import sys
from pathlib import Path
from config import embedded
print(embedded.ensure(Path(sys.argv[1]), durable=False), flush=True)
sys.stdin.read()
"""

Start = Callable[[], "subprocess.Popen[str]"]


@pytest.fixture
def home(folder: Path) -> Iterator[Path]:
    """Where a test's server lives; stopped and deleted afterwards."""
    yield folder / "postgres"
    embedded.release(folder / "postgres")
    embedded.destroy(folder / "postgres")


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Starts a process that holds the server of `home`."""
    started: list[subprocess.Popen[str]] = []

    def begin() -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(home)],
            cwd=holding.PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()
    embedded.release(home)
    eventually(lambda: not _keepers(home))


def eventually(done: Callable[[], bool], seconds: float = 15.0) -> bool:
    """Whether it comes true in time."""
    return server._wait(done, seconds)


def url_from(process: "subprocess.Popen[str]") -> str:
    """The address a holding process says once the server is up."""
    assert process.stdout is not None
    return str(process.stdout.readline()).strip()


def ask(url: str, question: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        answer = connection.execute(question)
        row = answer.fetchone() if answer.description else None
        return row[0] if row else None


def postmaster(home: Path) -> int:
    pid = server._postmaster(reach(home))
    assert pid is not None
    return pid


def _keepers(home: Path) -> list[str]:
    """The processes that look after this home."""
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    return [line.decode() for line in lines if b"keep\0" + os.fsencode(home) + b"\0" in line]


def test_it_is_up_when_ensure_returns(home):
    assert str(ask(embedded.ensure(home, durable=False), "SHOW server_version_num")) >= "150000"


def test_it_sorts_by_bytes_and_stores_unicode(home):
    url = embedded.ensure(home, durable=False)

    assert ask(url, "SELECT 'B' < 'a'") is True
    assert ask(url, "SHOW server_encoding") == "UTF8"


def test_it_opens_no_network_port(home):
    assert ask(embedded.ensure(home, durable=False), "SHOW listen_addresses") == ""


def test_only_a_test_may_lose_what_it_wrote(home):
    assert ask(embedded.ensure(home), "SHOW fsync") == "on"


def test_nobody_else_on_the_machine_gets_in(home):
    embedded.ensure(home, durable=False)

    assert reach(home).folder.stat().st_mode & 0o077 == 0


def test_a_path_too_long_for_a_socket_is_fine(deep):
    home = deep / "postgres"
    try:
        url = embedded.ensure(home, durable=False)

        assert ask(url, "SELECT 1") == 1
        assert reach(home).socket_folder.stat().st_mode & 0o077 == 0
    finally:
        embedded.release(home)
        socket_folder = reach(home).socket_folder
        embedded.destroy(home)
    assert not socket_folder.exists()


def test_the_last_to_leave_stops_it_and_leaves_no_process(home):
    embedded.ensure(home, durable=False)
    pid = postmaster(home)

    embedded.release(home)

    assert server._words(pid) == []
    assert _keepers(home) == []


def test_two_that_start_at_once_share_one(home, start):
    first, second = start(), start()

    assert url_from(first) == url_from(second) == reach(home).url


def test_one_that_ends_does_not_cut_off_another(home, start):
    first, second = start(), start()
    url_from(first), url_from(second)
    pid = postmaster(home)

    first.communicate(timeout=30)

    assert ask(reach(home).url, "SELECT 1") == 1
    assert postmaster(home) == pid


def test_a_killed_holder_leaves_no_server(home, start):
    holder = start()
    url_from(holder)

    holder.kill()

    assert eventually(lambda: not embedded.running(home) and not _keepers(home))


def test_a_killed_server_is_started_again_with_what_it_held(home, start):
    url = embedded.ensure(home)
    ask(url, "CREATE TABLE kept AS SELECT 7 AS number")
    os.kill(postmaster(home), signal.SIGKILL)
    assert eventually(lambda: not embedded.running(home))

    assert url_from(start()) == url
    assert ask(url, "SELECT number FROM kept") == 7


def test_a_pid_file_that_names_another_program_is_not_believed(home):
    embedded.ensure(home, durable=False)
    cluster = next(reach(home).folder.glob("pg*"))
    embedded.release(home)
    account = account_for(home)
    with subprocess.Popen(["sleep", "60"], cwd="/", **account.switch) as other:
        (cluster / "postmaster.pid").write_text(f"{other.pid}\n{cluster}\n1\n5432\n/nowhere\n\n  1 1\nready\n")
        try:
            assert ask(embedded.ensure(home, durable=False), "SELECT 1") == 1
        finally:
            other.kill()


def test_a_start_killed_while_making_its_files_is_made_good(home):
    embedded.ensure(home, durable=False)
    embedded.release(home)
    cluster = next(reach(home).folder.glob("pg*"))
    cluster.rename(cluster.with_suffix(".new"))
    (cluster.with_suffix(".new") / "PG_VERSION").unlink()

    assert ask(embedded.ensure(home, durable=False), "SELECT 1") == 1


def test_a_database_in_use_is_not_deleted(home, start):
    url_from(start())

    with pytest.raises(embedded.Impossible, match="in use"):
        embedded.destroy(home)


def test_a_forked_child_does_not_let_go_for_its_parent(home):
    url = embedded.ensure(home, durable=False)
    child = os.fork()
    if child == 0:
        embedded.release(home)
        os._exit(0)
    os.waitpid(child, 0)
    time.sleep(holding.KEEPER_SECONDS + 0.5)

    assert ask(url, "SELECT 1") == 1


def test_root_finds_another_place_when_the_database_user_cannot_reach_this_one(folder, nobody):
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    home = closed / "postgres"
    try:
        assert ask(embedded.ensure(home, durable=False), "SELECT 1") == 1
        elsewhere = home.readlink()
    finally:
        embedded.release(home)
        embedded.destroy(home)
    assert not elsewhere.exists()


def test_a_deleted_data_folder_starts_anew_even_where_root_put_it_elsewhere(folder, nobody):
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    home = closed / "postgres"
    ask(embedded.ensure(home, durable=False), "CREATE TABLE old ()")
    embedded.release(home)
    home.unlink()
    try:
        assert ask(embedded.ensure(home, durable=False), "SELECT to_regclass('old')") is None
    finally:
        embedded.release(home)
        embedded.destroy(home)


def test_programs_copied_for_a_user_who_cannot_reach_ours_run(folder, nobody, monkeypatch):
    monkeypatch.setattr(binaries, "COPIES", folder)

    copied = binaries._copy(next(binaries._carried()))
    found = binaries._probe(copied, nobody)

    assert found is not None
    assert copied.is_relative_to(folder)
    place = Place(folder / "home", nobody, folder / "home")
    place.folder.mkdir(mode=0o700)
    os.chown(place.folder, nobody.uid, nobody.gid)
    server._make_cluster(place, found, place.folder / "pg", durable=False)
    assert (place.folder / "pg" / "PG_VERSION").exists()


def test_an_ordinary_user_gets_one_too(folder, nobody, python):
    os.chown(folder, nobody.uid, nobody.gid)
    program = binaries.find(nobody)
    process = subprocess.Popen(
        [python, "-B", "-c", HOLD, str(folder / "postgres")],
        cwd=holding.PROJECT,
        env={"ASSIZE_PG_BIN": str(program.folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **nobody.switch,
    )

    url = url_from(process)

    assert ask(url, "SELECT 1") == 1
    process.communicate(timeout=30)
    assert not embedded.running(folder / "postgres")


def test_a_user_without_a_name_is_told_what_to_do(folder, nobody, python):
    folder.chmod(0o777)
    nameless = Account(54321, 54321, "nameless")

    refused = nameless.run([python, "-B", "-c", f"import sys; sys.path.insert(0, {str(holding.PROJECT)!r})\n{HOLD}", folder / "postgres"])

    assert "/etc/passwd" in refused.stdout
    assert "DATABASE_URL" in refused.stdout


def test_chosen_programs_that_are_none_are_refused(folder, monkeypatch):
    monkeypatch.setenv("ASSIZE_PG_BIN", str(folder))

    with pytest.raises(embedded.Impossible, match="ASSIZE_PG_BIN"):
        binaries.find(account_for(folder))
