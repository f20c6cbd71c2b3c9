"""Every rule refuses what it is there to refuse, in a log that is otherwise perfect: numbered, chained and in time.

Random logs prove none of these: the rule that is tested would also be the one that kept the log from breaking it.
"""

import ast
import re
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from judging import rows
from judging.records import row_document
from judging.replay import Divergence, Kind, groups, replay, settled
from judging.states import MOVES, Cause, JobState, RecordType
from tests.ledger.logs import BOX, OTHER_BOX, OTHER_SUBMISSION, SUBMISSION, THREAD, Log, job, reported, token

T = RecordType
BY_BOX = {"actor": f"runner:{BOX}"}
TOKEN = {"token": str(token(1))}
LEASE = {"token": str(token(9)), "runner": str(BOX), "granted": 60}
IDS = {"submission": str(SUBMISSION), "lane": str(UUID(int=4)), "version": str(UUID(int=5))}
OPENED = {"thread": str(THREAD), **IDS, "attempt": 1, "priority": 1, "urgent": False, "cap": 5, "reason": None}

Breach = Callable[[Log], object]
BREACHES: list[tuple[str, Breach]] = []


def refused(words: str) -> Callable[[Breach], Breach]:
    """Register a log that this rule must refuse at its last record."""

    def register(breach: Breach) -> Breach:
        BREACHES.append((words, breach))
        return breach

    return register


def waiting(log: Log, **fields) -> UUID:
    return log.submit(**fields)


def held(log: Log, **fields):
    log.submit(**fields)
    return log.claim()


def on_the_channel(log: Log, **fields):
    log.submit(**fields)
    return log.claim(channel=True)


def lost(log: Log):
    """A run on the channel whose runner went silent at the cap."""
    return log.expire(on_the_channel(log, cap=1), free=0)


def judged(log: Log):
    return log.report(held(log))


@refused("submitted twice")
def _(log):
    waiting(log)
    log.forge(T.SUBMITTED, job(1), **OPENED)


@refused("of an unknown job")
def _(log):
    log.forge(T.CANCELLED, job(1), reason="because")


@refused("leased while not queued")
def _(log):
    waiting(log)
    log.write(T.CANCELLED, job(1), reason="because")
    # A record of a newer version, of another job: from then on nobody here knows which job is the head.
    log.forge("unheard of", job(2))
    log.forge(T.LEASED, job(1), **BY_BOX, **LEASE)


@refused("leased past the cap")
def _(log):
    log.expire(held(log, cap=2), free=0)
    log.write(T.REQUEUED, log.claim().id, cause=Cause.OPERATOR.value, token=str(token(2)), reason=None)
    log.forge(T.LEASED, job(1), **BY_BOX, **LEASE)


@refused("leased for no time")
def _(log):
    waiting(log)
    log.forge(T.LEASED, job(1), **BY_BOX, **LEASE | {"granted": 0})


@refused("of a job nobody holds")
def _(log):
    waiting(log)
    log.forge(T.EXPIRED, job(1), token=None, free=3)


@refused("under another lease")
def _(log):
    held(log)
    log.forge(T.HEARD, job(1), **BY_BOX, token=str(token(7)))


@refused("admitted under a second outside id")
def _(log):
    log.held(T.ADMITTED, held(log), outside="first")
    log.forge(T.ADMITTED, job(1), **BY_BOX, **TOKEN, outside="second")


@refused("expired before its deadline")
def _(log):
    held(log)
    log.wait(59.999999)
    log.forge(T.EXPIRED, job(1), **TOKEN, free=3)


@refused("given up with hand-outs left")
def _(log):
    waiting(log)
    log.forge(T.REQUEUED, job(1), cause=Cause.EXHAUSTED.value, reason=None)


@refused("a hand-out that was heard cannot be undone")
def _(log):
    log.held(T.HEARD, held(log))
    log.forge(T.REQUEUED, job(1), cause=Cause.UNDONE.value, **TOKEN, free=3)


@refused("requeued at the cap")
def _(log):
    held(log, cap=1)
    log.forge(T.REQUEUED, job(1), **BY_BOX, cause=Cause.INFRASTRUCTURE.value, **TOKEN, reason="it crashed")


@refused("failed with hand-outs left")
def _(log):
    held(log)
    log.forge(T.REPORTED, job(1), **BY_BOX, **TOKEN, **reported(judged=False))


@refused("cancelled after it was finished")
def _(log):
    judged(log)
    log.forge(T.CANCELLED, job(1), reason="because")


@refused("marked after it was finished")
def _(log):
    judged(log)
    log.forge(T.DELETE_MARKED, job(1), reason="because")


@refused("superseded while not queued")
def _(log):
    held(log)
    log.forge(T.SUPERSEDED, job(1), by=str(job(2)))


@refused("superseded after it was admitted")
def _(log):
    row = held(log)
    log.held(T.ADMITTED, row, outside="x")
    log.expire(log.jobs[row.id], free=0)
    log.forge(T.SUPERSEDED, job(1), by=str(job(2)))


@refused("prioritised after it was finished")
def _(log):
    judged(log)
    log.forge(T.PRIORITISED, job(1), priority=0)


@refused("voided without a counting result")
def _(log):
    log.write(T.VOIDED, judged(log).id)
    log.forge(T.VOIDED, job(1))


@refused("baseline of a job that the ledger tells of already")
def _(log):
    row = log.jobs[waiting(log)]
    log.forge(T.BASELINE, row.id, **row_document(row))


@refused("baseline of another job")
def _(log):
    row = log.jobs[waiting(log)]
    log.forge(T.BASELINE, job(2), **row_document(row))


@refused("of a job that was reclaimed")
def _(log):
    log.reclaim(judged(log))
    log.forge(T.VOIDED, job(1))


@refused("reclaimed while it was not finished")
def _(log):
    waiting(log)
    log.forge(T.RECLAIMED, job(1))


@refused("in another thread")
def _(log):
    log.forge(T.SUBMITTED, job(1), **OPENED | {"thread": str(UUID(int=77))})


@refused("after a later one")
def _(log):
    judged(log)
    log.forge(T.SUBMITTED, job(2), **OPENED)


@refused("runs")
def _(log):
    held(log)
    log.submit(submission=OTHER_SUBMISSION)
    log.forge(T.LEASED, job(2), **BY_BOX, **LEASE)


@refused("the thread's head")
def _(log):
    waiting(log)
    log.submit(submission=OTHER_SUBMISSION)
    log.forge(T.LEASED, job(2), **BY_BOX, **LEASE)


@refused("who does not hold it")
def _(log):
    held(log)
    log.forge(T.REPORTED, job(1), actor=f"runner:{OTHER_BOX}", **TOKEN, **reported())


@refused("who does not hold it")
def _(log):
    waiting(log)
    log.forge(T.LEASED, job(1), actor=f"runner:{OTHER_BOX}", **LEASE)


@refused("who does not hold it")
def _(log):
    held(log)
    log.forge(T.REQUEUED, job(1), actor="reaper", cause=Cause.INFRASTRUCTURE.value, **TOKEN, reason="it crashed")


@refused("without ending exactly what it replaces")
def _(log):
    waiting(log)
    log.forge(T.SUBMITTED, job(2), **OPENED | {"attempt": 2})


@refused("without ending exactly what it replaces")
def _(log):
    waiting(log)
    log.write(T.SUPERSEDED, job(1), by=str(job(2)))
    log.forge(T.SUBMITTED, job(2), **OPENED | {"submission": str(OTHER_SUBMISSION)})


@refused("before a decision was told whole")
def _(log):
    waiting(log)
    log.write(T.SUPERSEDED, job(1), by=str(job(2)))
    log.wait(1)
    log.forge(T.SUBMITTED, job(2), **OPENED | {"attempt": 2})


@refused("is opened")
def _(log):
    waiting(log)
    log.write(T.SUPERSEDED, job(1), by=str(job(2)))
    log.forge(T.SUBMITTED, job(3), **OPENED | {"attempt": 2})


@refused("superseded by two new jobs at once")
def _(log):
    waiting(log)
    waiting(log, submission=OTHER_SUBMISSION)
    log.write(T.SUPERSEDED, job(1), by=str(job(3)))
    log.forge(T.SUPERSEDED, job(2), by=str(job(4)))


@refused("gives way to")
def _(log):
    row = held(log, urgent=True)
    log.submit(submission=OTHER_SUBMISSION, urgent=True)
    log.held(T.RELEASED, row, free=3)
    log.forge(T.PRIORITISED, job(1), priority=4)


@refused("that cannot be read")
def _(log):
    waiting(log)
    log.forge(T.LEASED, job(1), **BY_BOX, **LEASE | {"token": "no token"})


@refused("that cannot be read")
def _(log):
    waiting(log)
    log.forge(T.LEASED, job(1), **BY_BOX, runner=str(BOX))


@refused("after its outcome arrived")
def _(log):
    log.arrive(on_the_channel(log))
    log.forge(T.HEARD, job(1), **BY_BOX, **TOKEN)


@refused("cancelled after its outcome arrived")
def _(log):
    log.arrive(on_the_channel(log))
    log.forge(T.CANCELLED, job(1), reason="because")


@refused("started twice, or not on the channel")
def _(log):
    held(log)
    log.forge(T.STARTED, job(1), **BY_BOX, **TOKEN, seconds=60)


@refused("started twice, or not on the channel")
def _(log):
    log.held(T.STARTED, on_the_channel(log), seconds=60)
    log.forge(T.STARTED, job(1), **BY_BOX, **TOKEN, seconds=60)


@refused("silent without a channel")
def _(log):
    held(log)
    log.forge(T.REQUEUED, job(1), **TOKEN, cause=Cause.SILENT.value, free=3)


@refused("an outcome without a channel")
def _(log):
    held(log)
    log.forge(T.ARRIVED, job(1), **BY_BOX, **TOKEN, outcome=str(UUID(int=8)))


@refused("a second outcome")
def _(log):
    log.arrive(lost(log))
    log.forge(T.ARRIVED, job(1), **BY_BOX, **TOKEN, outcome=str(UUID(int=8)))


@refused("by somebody who was not lost")
def _(log):
    lost(log)
    log.forge(T.ARRIVED, job(1), **BY_BOX, token=str(token(7)), outcome=str(UUID(int=8)))


@refused("an outcome without a verdict")
def _(log):
    log.arrive(on_the_channel(log))
    log.forge(T.REPORTED, job(1), **BY_BOX, **TOKEN, **reported(judged=False))


@refused("under another lease")
def _(log):
    log.arrive(on_the_channel(log))
    log.forge(T.REPORTED, job(1), **BY_BOX, token=str(token(7)), **reported())


@refused("under another lease")
def _(log):
    log.arrive(on_the_channel(log))
    log.forge(T.FAILED, job(1), token=str(token(7)), reason="no verdict in it")


@refused("by somebody who was not lost")
def _(log):
    log.arrive(lost(log))
    log.forge(T.REPORTED, job(1), **BY_BOX, token=str(token(7)), **reported())


@refused("failed again")
def _(log):
    lost(log)
    log.forge(T.FAILED, job(1), **BY_BOX, **TOKEN, reason="it crashed")


@refused("failed without a channel")
def _(log):
    held(log)
    log.forge(T.FAILED, job(1), **BY_BOX, **TOKEN, reason="it crashed")


@refused("cancelled for a limit it did not exceed")
def _(log):
    log.held(T.STARTED, on_the_channel(log), seconds=60)
    log.wait(60.999999)
    log.forge(T.CANCELLED, job(1), reason="too long", limit=60)


@refused("who does not hold it")
def _(log):
    waiting(log)
    log.forge(T.RELEASED, job(1), actor="runner:None", token=None, free=3)


@pytest.mark.parametrize(("words", "breach"), BREACHES, ids=[f"{place}-{words}" for place, (words, _) in enumerate(BREACHES)])
def test_what_the_rules_forbid_is_illegal_where_it_stands(words, breach):
    log = Log()
    breach(log)

    replay(THREAD, log.records[:-1])
    with pytest.raises(Divergence, match=re.escape(words)) as met:
        replay(THREAD, log.records)

    assert (met.value.kind, met.value.place.n) == (Kind.ILLEGAL, len(log.records))


def refusals(module) -> set[str]:
    """The longest constant part of every sentence with which a module refuses a move."""
    found = set()
    files = [Path(module.__file__)] if not hasattr(module, "__path__") else sorted(Path(module.__path__[0]).glob("*.py"))
    for node in [node for file in files for node in ast.walk(ast.parse(file.read_text()))]:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"_require", "require", "Illegal"}:
            words = node.args[-1]
            parts = words.values if isinstance(words, ast.JoinedStr) else [words]
            texts = [str(part.value) for part in parts if isinstance(part, ast.Constant)]
            if texts:
                found.add(max(texts, key=len).strip(" ,"))
    return found


@pytest.mark.parametrize("module", [rows, groups], ids=["rows", "groups"])
def test_no_rule_is_without_a_log_that_breaks_it(module):
    met = []
    for _, breach in BREACHES:
        log = Log()
        breach(log)
        with pytest.raises(Divergence) as divergence:
            replay(THREAD, log.records)
        met.append(divergence.value.words)

    unmet = {words for words in refusals(module) if not any(words in sentence for sentence in met)}
    # The table of states, which every move of `rows` obeys by what it requires first: a second look, tested below.
    assert unmet - {"may not become"} == set()


def test_the_table_of_states_refuses_a_move_that_the_rules_would_make(monkeypatch):
    log = Log()
    waiting(log)
    monkeypatch.setitem(MOVES, JobState.QUEUED, frozenset())

    with pytest.raises(rows.Illegal, match="queued may not become running"):
        log.claim()


def test_a_ledger_that_breaks_off_in_the_middle_of_a_decision_is_not_settled():
    log = Log()
    waiting(log)
    log.write(T.SUPERSEDED, job(1), by=str(job(2)))

    with pytest.raises(Divergence, match="breaks off") as met:
        settled(replay(THREAD, log.records))

    assert (met.value.kind, met.value.place.job) == (Kind.ILLEGAL, job(2))


@pytest.mark.parametrize("nothing", [None, "", "None", "null"])
def test_no_lease_matches_no_token(nothing):
    """A null equals nothing: a job without a lease is not held by whoever names none (ledger.md §3)."""
    log = Log()
    waiting(log)
    log.forge(T.EXPIRED, job(1), token=nothing, free=3)

    with pytest.raises(Divergence, match="nobody holds"):
        replay(THREAD, log.records)
