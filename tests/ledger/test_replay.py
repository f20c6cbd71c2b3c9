"""What a replay makes of a log: the same for everybody, and the first thing wrong with it."""

import contextlib
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judging.records import RowText, canonical, row_digest, row_document
from judging.replay import Difference, Divergence, Kind, Place, State, apply, claimable, replay
from judging.replay import exported as files
from judging.replay.__main__ import main
from judging.rows import JobRow
from judging.states import JobState, RecordType
from tests.ledger.logs import BEGIN, BOX, OTHER_BOX, THREAD, Log, job, random_log

PROJECT = Path(__file__).resolve().parents[2]
logs = st.builds(random_log, st.integers(0, 2**32), steps=st.integers(1, 25))
few = settings(max_examples=60, deadline=None)


def diverges(records, *, kind, n):
    with pytest.raises(Divergence) as met:
        replay(THREAD, records)
    assert (met.value.kind, met.value.place.thread, met.value.place.n) == (kind, THREAD, n), met.value
    return met.value


def rechained(records):
    """The records with numbers and hashes made right again, as a careful forger would."""
    tail, made = b"", []
    for n, record in enumerate(records, 1):
        fresh = record._replace(n=n)
        tail = fresh.chained(tail)
        made.append(fresh._replace(hash=tail))
    return made


def first(state: State) -> JobRow:
    """The first job's row, which must be known."""
    found = state.tales[job(1)].row
    assert found is not None
    return found


def a_judged_job() -> Log:
    log = Log()
    log.submit()
    row = log.wait(1).claim()
    row = log.wait(1).held(RecordType.HEARD, row)
    log.wait(1).report(row)
    return log


# The machine of seed 004: the verdict is a function of the log.


def test_a_claim_inside_a_lease_does_not_win():
    log = Log()
    log.submit()
    log.claim(granted=30)
    log.wait(29.999999).forge(RecordType.EXPIRED, job(1), token=str(log.jobs[job(1)].token), free=3)

    diverges(log.records, kind=Kind.ILLEGAL, n=3)


def test_a_claim_exactly_at_expiry_wins():
    log = Log()
    log.submit()
    first = log.claim(granted=30)
    log.expire(first)
    second = log.claim(box=OTHER_BOX, granted=30)

    assert second.claimed_at == first.lease_until
    assert replay(THREAD, log.records).tales[job(1)].row == second


def test_a_claim_after_the_lease_takes_over_whatever_the_readers_clock_says():
    log = Log()
    log.submit()
    log.expire(log.claim(granted=30))
    log.wait(1).claim(box=OTHER_BOX)
    state = replay(THREAD, log.records)
    slow = BEGIN + timedelta(seconds=10)

    assert claimable(state.rows(), slow) == []
    assert first(state).runner == OTHER_BOX


def test_what_is_done_is_never_claimable_and_never_claimed_again():
    log = a_judged_job()
    log.forge(RecordType.LEASED, job(1), actor=f"runner:{BOX}", token=str(UUID(int=8)), runner=str(BOX), granted=60)

    assert claimable(replay(THREAD, log.records[:-1]).rows(), BEGIN + timedelta(days=9)) == []
    diverges(log.records, kind=Kind.ILLEGAL, n=5)


def test_what_waits_and_what_has_lapsed_is_worth_a_try():
    log = Log()
    waiting = log.submit(submission=UUID(int=31))
    held = log.claim(granted=30)
    log.submit(submission=UUID(int=32))

    rows = replay(THREAD, log.records).rows()

    assert held.lease_until is not None
    assert claimable(rows, held.lease_until - timedelta(microseconds=1)) == [job(2)]
    assert claimable(rows, held.lease_until) == [waiting, job(2)]


@few
@given(logs, st.lists(st.timedeltas(min_value=timedelta(days=-1), max_value=timedelta(days=1)), min_size=1, max_size=8))
def test_looking_at_any_clock_between_records_changes_no_verdict(log, clocks):
    state = State(THREAD)
    for place, record in enumerate(log.records):
        claimable(state.rows(), BEGIN + clocks[place % len(clocks)])
        state = apply(state, record)

    assert state == replay(THREAD, log.records)


def test_an_unknown_record_disturbs_no_lease_and_loses_no_place():
    log = Log()
    log.submit()
    row = log.claim()
    log.forge("applauded", job(1), after=row_digest(row), by="the crowd")
    log.forge(RecordType.HEARD, job(1), v=2, after=row_digest(row))
    log.report(row)

    state = replay(THREAD, log.records)

    assert (state.n, state.skipped, state.dark) == (5, 2, False)
    assert first(state).state is JobState.COMPLETED


def test_an_unknown_record_that_changed_its_job_leaves_only_that_job_unknown():
    log = Log()
    log.submit()
    log.forge("teleported", job(1), after=bytes(31) + b"\1")
    log.forge(RecordType.HEARD, job(1), actor=f"runner:{BOX}", token=None)
    other = log.submit(submission=UUID(int=32))

    state = replay(THREAD, log.records)

    assert (state.skipped, state.dark) == (2, True)
    assert state.tales[job(1)].row is None
    assert state.tales[other].row == log.jobs[other]


def test_a_baseline_makes_an_unknown_job_known_again():
    log = Log()
    row = log.jobs[log.submit()]
    log.forge("teleported", job(1), after=bytes(31) + b"\1")
    whole: dict[str, Any] = row_document(row)
    log.forge(RecordType.BASELINE, job(1), after=row_digest(row), **whole)

    state = replay(THREAD, log.records)

    assert (state.dark, state.tales[job(1)].row) == (False, row)


# The first thing wrong.


def test_a_missing_record_is_a_gap_where_it_was():
    records = a_judged_job().records
    del records[1]

    found = diverges(records, kind=Kind.GAP, n=2)

    assert (found.difference.column, found.difference.logged, found.difference.found) == ("n", 2, 3)


def test_a_record_that_stands_twice_is_a_gap():
    records = a_judged_job().records

    diverges([*records[:2], records[1], *records[2:]], kind=Kind.GAP, n=3)


def test_a_record_of_another_thread_is_a_gap():
    records = a_judged_job().records
    records[2] = records[2]._replace(thread=UUID(int=77))

    diverges(records, kind=Kind.GAP, n=3)


def test_swapped_records_break_the_chain_at_the_first():
    first, second, third, fourth = a_judged_job().records

    diverges([first, third._replace(n=2), second._replace(n=3), fourth], kind=Kind.CHAIN, n=2)


def test_time_that_runs_back_is_told_even_when_everything_else_was_made_right():
    records = a_judged_job().records
    records[2] = records[2]._replace(at=records[0].at - timedelta(microseconds=1))

    found = diverges(rechained(records), kind=Kind.CLOCK, n=3)

    assert (found.difference.logged, found.difference.found) == (records[1].at, records[2].at)


def test_an_edit_whose_chain_was_made_right_leaves_another_row_than_was_sealed():
    records = a_judged_job().records
    records[1] = records[1]._replace(data=dict(records[1].data) | {"granted": 61})

    diverges(rechained(records), kind=Kind.DIGEST, n=2)


@pytest.mark.parametrize("value", [1.5, ["a"], {"a": 1}], ids=["a float", "a list", "a map"])
def test_data_that_the_ledger_cannot_hold_breaks_the_chain(value):
    records = a_judged_job().records
    records[1] = records[1]._replace(data=dict(records[1].data) | {"granted": value})

    diverges(records, kind=Kind.CHAIN, n=2)


HOSTILE = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.just(str(THREAD)), st.just(10**40))
NAMES = ["token", "granted", "runner", "seconds", "free", "cause", "reason", "outcome", "limit", "judged", "by", "verdict"]


@few
@given(logs, st.sampled_from(list(RecordType)), st.dictionaries(st.sampled_from(NAMES), HOSTILE))
def test_whatever_a_record_holds_a_replay_ends_in_a_state_or_a_divergence(log, kind, data):
    log.forge(kind, job(1), **data)

    with contextlib.suppress(Divergence):
        replay(THREAD, log.records)


EDITS = {
    "n": lambda n: n + 1,
    "thread": lambda _: UUID(int=99),
    "at": lambda at: at + timedelta(microseconds=1),
    "v": lambda v: v + 1,
    "type": lambda kind: "heard" if kind != "heard" else "renewed",
    "job": lambda _: UUID(int=98),
    "actor": lambda actor: actor + "x",
    "data": lambda data: {**data, "reason": "another"},
    "after": lambda after: bytes([after[0] ^ 1]) + after[1:],
    "hash": lambda digest: bytes([digest[0] ^ 1]) + digest[1:],
}


@few
@given(logs, st.sampled_from(sorted(EDITS)), st.data())
def test_any_single_edit_is_reported_at_its_record(log, column, data):
    place = data.draw(st.integers(0, len(log.records) - 1))
    edited = log.records[place]
    edited = edited._replace(**{column: EDITS[column](getattr(edited, column))})

    kind = Kind.GAP if column in {"n", "thread"} else Kind.CHAIN
    diverges([*log.records[:place], edited, *log.records[place + 1 :]], kind=kind, n=place + 1)


@few
@given(logs, st.data())
def test_a_split_replay_equals_the_whole(log, data):
    cut = data.draw(st.integers(0, len(log.records)))

    whole = replay(THREAD, log.records)

    assert replay(THREAD, log.records[cut:], base=replay(THREAD, log.records[:cut])) == whole
    assert {tale.row.id: tale.row for tale in whole.tales.values() if tale.row} == log.jobs


@few
@given(logs)
def test_reading_changes_no_state_that_was_handed_out(log):
    half = len(log.records) // 2
    before = replay(THREAD, log.records[:half])
    kept = dict(before.tales)

    replay(THREAD, log.records[half:], base=before)

    assert dict(before.tales) == kept


@few
@given(logs)
def test_the_forms_that_are_written_out_for_speed_are_the_canonical_ones(log):
    for record in log.records:
        assert record.chained(b"x") == hashlib.sha256(b"x" + canonical(record.document())).digest()
    before = None
    for row in log.jobs.values():
        text = RowText.of(row) if before is None else before.then(row)
        assert text.digest() == hashlib.sha256(canonical(row_document(row))).digest()
        before = text


# The same everywhere.


def exported(log: Log) -> str:
    stream = io.StringIO()
    file = files.SealedFile(stream, files.LEDGER, at=BEGIN)
    for record in log.records:
        file.write(files.record_line(record))
    file.seal()
    return stream.getvalue()


def run(path: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Replay a file with an interpreter that has nothing but its standard library."""
    bare = {"PATH": os.environ["PATH"], **environment}
    command = [sys.executable, "-S", "-m", "judging.replay", str(path), *arguments]
    return subprocess.run(command, cwd=PROJECT, env=bare, capture_output=True, text=True, check=False)


def test_an_exported_ledger_is_replayed_without_django_or_a_database(tmp_path):
    file = tmp_path / "ledger.jsonl"
    file.write_text(exported(a_judged_job()))

    answer = run(file)

    assert (answer.returncode, answer.stdout) == (0, "equal: 4 records of 1 threads, 0 anchors met\n"), answer.stderr


def test_time_zone_locale_and_hash_seed_change_nothing(tmp_path):
    file = tmp_path / "ledger.jsonl"
    damaged = a_judged_job()
    damaged.records[3] = damaged.records[3]._replace(data=dict(damaged.records[3].data) | {"verdict": "Größer ∑ \u2028"})
    file.write_text(exported(damaged), encoding="utf-8")

    answers = [
        run(file, TZ=zone, LC_ALL=locale, PYTHONHASHSEED=seed, PYTHONUTF8=utf8)
        for zone, locale, seed, utf8 in [
            ("UTC", "C.UTF-8", "0", "1"),
            ("Pacific/Auckland", "C", "1", "0"),
            ("America/St_Johns", "tr_TR.UTF-8", "4711", "1"),
        ]
    ]

    assert {(answer.returncode, answer.stdout, answer.stderr) for answer in answers} == {(1, answers[0].stdout, "")}, answers
    assert "record 4: chain" in answers[0].stdout


def test_an_exported_ledger_that_was_cut_short_is_not_taken_for_a_whole_one(tmp_path):
    file = tmp_path / "ledger.jsonl"
    file.write_text("".join(exported(a_judged_job()).splitlines(keepends=True)[:-2]))

    assert run(file).returncode == 2


def test_an_exported_ledger_with_records_of_a_newer_version_says_so(tmp_path):
    file = tmp_path / "ledger.jsonl"
    log = a_judged_job()
    log.forge("applauded", job(1), after=row_digest(log.jobs[job(1)]))
    file.write_text(exported(log))

    answer = run(file)

    assert (answer.returncode, "1 records of an unknown kind" in answer.stdout) == (3, True)


@pytest.mark.parametrize("line", ["", "[]", "{}", '{"format":"assize-anchor","version":1}', "\x00"])
def test_a_file_that_is_no_ledger_cannot_be_run(tmp_path, line):
    file = tmp_path / "ledger.jsonl"
    file.write_text(line)

    answer = run(file)

    assert (answer.returncode, answer.stdout) == (2, "")
    assert "Traceback" not in answer.stderr


def test_a_line_that_is_no_record_cannot_be_run(tmp_path):
    stream = io.StringIO()
    file = files.SealedFile(stream, files.LEDGER, at=BEGIN)
    file.write({"thread": 5})
    file.seal()
    path = tmp_path / "ledger.jsonl"
    path.write_text(stream.getvalue())

    assert (run(path).returncode, "not a ledger record" in run(path).stderr) == (2, True)


def test_anchors_are_checked_without_a_database(tmp_path):
    log = a_judged_job()
    anchors = io.StringIO()
    files.write_anchors(anchors, [(THREAD, files.Anchor(3, log.records[2].hash))], at=BEGIN)
    (tmp_path / "anchors").write_text(anchors.getvalue())
    (tmp_path / "honest").write_text(exported(log))
    log.records[1] = log.records[1]._replace(actor=log.records[1].actor)
    log.records[0] = log.records[0]._replace(actor="user:2")
    log.records = rechained(log.records)
    (tmp_path / "rewritten").write_text(exported(log))

    honest = run(tmp_path / "honest", "--anchor", str(tmp_path / "anchors"))
    rewritten = run(tmp_path / "rewritten", "--anchor", str(tmp_path / "anchors"))

    assert (honest.returncode, "1 anchors met" in honest.stdout) == (0, True)
    assert (rewritten.returncode, "record 3: chain" in rewritten.stdout) == (1, True)


def test_a_divergence_cannot_move_the_terminals_cursor():
    evil = Divergence(Kind.TABLE, "a column", Place(THREAD, 1), Difference("result.verdict", "ok", "\x1b[2J"))

    assert "\x1b" not in str(evil)
    assert json.loads(json.dumps(evil.document()))["found"] == "\x1b[2J"


# Files that mean ill: a sentence and exit 2, whatever they hold.


def sealed(*lines: str) -> bytes:
    """An exported ledger of these lines, sealed as it should be."""
    head = canonical({"at": "2026-03-01T09:00:00.000000Z", "format": files.LEDGER, "version": 1}).decode()
    body = "".join(f"{line}\n" for line in (head, *lines)).encode("utf-8", "surrogatepass")
    return body + canonical({"lines": len(lines), "sha256": hashlib.sha256(body).hexdigest()}) + b"\n"


def a_line(**other: object) -> str:
    """The first record of a judged job with other members."""
    return json.dumps(files.record_line(a_judged_job().records[0]) | other, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


HOSTILE_FILES = {
    "a number without end": sealed(a_line().replace('"n":1', f'"n":{"9" * 5000}')),
    "a number that is too large": sealed(a_line(n=10**400)),
    "nested without end": sealed("[" * 100_000),
    "nested in a record": sealed(a_line().replace('"data":{', '"data":{"a":' + "[" * 100_000 + "]" * 100_000 + ",")),
    "two members of one name": sealed(a_line().replace('"n":1', '"n":1,"n":1')),
    "not a number": sealed(a_line().replace('"n":1', '"n":NaN')),
    "infinite": sealed(a_line().replace('"n":1', '"n":1e999')),
    "a fraction": sealed(a_line(n=1.0)),
    "true for one": sealed(a_line(n=True)),
    "a text for a number": sealed(a_line(n="1")),
    "data that is a list": sealed(a_line(data=[])),
    "data that is a text": sealed(a_line(data="")),
    "no data": sealed(a_line(data=None)),
    "a moment without a zone": sealed(a_line(at="2026-03-01T09:00:00.000000")),
    "a moment of another zone": sealed(a_line(at="2026-03-01T09:00:00.000000+01:00")),
    "before all time": sealed(a_line(at="0001-01-01T00:00:00.000000+23:00")),
    "a day that never was": sealed(a_line(at="2026-02-30T09:00:00.000000Z")),
    "an id in braces": sealed(a_line(job=f"{{{job(1)}}}")),
    "a hash with blanks": sealed(a_line(hash="00 " * 32)),
    "half a letter": sealed(a_line(actor="\ud800")),
    "half an escaped letter": sealed(a_line().replace("user:", "\\ud800")),
    "blanks between members": sealed(a_line().replace('"n":', '"n": ')),
    "one endless line": b"x" * (files.LONGEST_LINE * 2),
    "other line ends": sealed(a_line()).replace(b"\n", b"\r\n"),
    "no last line end": sealed(a_line())[:-1],
    "compressed": gzip.compress(sealed(a_line())),
    "zeros": b"\x00" * 1000,
    "more than was sealed": sealed(a_line()) + sealed(a_line()),
}


def outcome_of(capsys, *arguments: Path | str) -> tuple[int, str]:
    """The exit code and all that was said, in this process: what is not caught would be raised here."""
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return code, said.out + said.err


@pytest.mark.parametrize("name", HOSTILE_FILES)
def test_a_hostile_file_ends_with_a_sentence(tmp_path, capsys, name):
    file = tmp_path / "ledger.jsonl"
    file.write_bytes(HOSTILE_FILES[name])

    code, said = outcome_of(capsys, file)

    # The one that is a file like any other is read, and what it says is a contradiction.
    assert (code, said.count("\n")) == (1 if name == "a number that is too large" else 2, 1), said
    assert len(said) < 1000


def test_a_hostile_anchor_file_ends_with_a_sentence(tmp_path, capsys):
    (tmp_path / "ledger.jsonl").write_text(exported(a_judged_job()))
    for place, content in enumerate((b"[" * 100_000, b"\x00", sealed(a_line()), gzip.compress(b"x"))):
        (tmp_path / str(place)).write_bytes(content)

        code, said = outcome_of(capsys, tmp_path / "ledger.jsonl", "--anchor", tmp_path / str(place))

        assert (code, said.count("\n")) == (2, 1), said
