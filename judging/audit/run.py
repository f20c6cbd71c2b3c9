"""audit: replay every thread inside one snapshot and compare it with the tables (ledger.md §4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from uuid import UUID

from psycopg import DataError

from judging.audit.crossing import breaches, impossible_moments
from judging.audit.snapshot import Moment, Scope, ThreadView, snapshot, threads
from judging.durable import one_transaction
from judging.models import Audit, AuditResult, AuditScope
from judging.records import Record
from judging.replay import Divergence, State, compare, replay
from judging.replay.exported import Anchor, Moored

KEPT = 100
"""How many divergences are told; the others are counted."""
_STEP = 200

Seeing = Callable[[Sequence[Record]], object]
"""Is shown the records of one thread after the other."""


@dataclass(slots=True)
class Outcome:
    """What an audit found. `tails` is the last record of each thread, as far as it is equal.

    `cut_short`: it met something that cannot be read, and saw nothing after it.
    """

    scope: Scope
    moment: Moment
    records: int = 0
    threads: int = 0
    skipped: int = 0
    diverged: int = 0
    anchors: int = 0
    cut_short: bool = False
    divergences: list[Divergence] = field(default_factory=list)
    tails: dict[UUID, Anchor] = field(default_factory=dict)

    @property
    def result(self) -> AuditResult:
        """What it amounts to."""
        if self.diverged:
            return AuditResult.DIVERGED
        return AuditResult.UNKNOWN if self.skipped else AuditResult.EQUAL

    @property
    def words(self) -> str:
        """The first divergence, or how much is equal."""
        if self.divergences:
            more = f" ({self.diverged - 1} more)" if self.diverged > 1 else ""
            cut = "; what came after could not be read" if self.cut_short else ""
            return f"{self.divergences[0]}{more}{cut}"
        passed = f"; {self.skipped} of an unknown kind were skipped" if self.skipped else ""
        return f"{self.records} records of {self.threads} threads explain the tables{passed}"

    def add(self, divergence: Divergence) -> None:
        """Count one, and tell of it while there is room."""
        self.diverged += 1
        if len(self.divergences) < KEPT:
            self.divergences.append(divergence)


def audit(
    scope: Scope | None = None,
    *,
    anchors: Mapping[UUID, Anchor] | None = None,
    progress: Callable[[int], object] = lambda _: None,
    watch: Callable[[Moment], Seeing] = lambda _: len,
) -> Outcome:
    """Audit a scope, everything by default, and remember the outcome.

    Each thread is told to its first divergence. `progress` hears how many records were read; `watch` is given the
    moment and answers who is shown the records, an export. Raises a database error when the look itself fails.
    """
    scope = scope or Scope()
    moored = Moored(anchors or {})
    with snapshot() as moment, closing(threads(scope)) as views:
        outcome = Outcome(scope, moment)
        see = watch(moment)
        try:
            for view in views:
                see(view.records)
                _audit_thread(view, outcome, moored)
                if outcome.threads % _STEP == 0:
                    progress(outcome.records)
        except DataError as error:
            _explain_unreadable(outcome, error)
        progress(outcome.records)
        if scope.kind is AuditScope.ALL and not outcome.cut_short:
            _audit_whole(outcome, moored)
    outcome.anchors = moored.met
    _remember(outcome)
    return outcome


def _audit_thread(view: ThreadView, outcome: Outcome, moored: Moored) -> None:
    """One thread, to its first divergence."""
    try:
        state = replay(view.id, moored.pass_by(view.records))
        outcome.skipped += state.skipped
        moored.missing(view.id, last=state.n)
        compare(state, view.tables)
        if state.n:
            outcome.tails[view.id] = Anchor(state.n, state.tail)
    except Divergence as divergence:
        outcome.add(divergence)
    outcome.threads += 1
    outcome.records += len(view.records)


def _explain_unreadable(outcome: Outcome, error: DataError) -> None:
    """Something in the tables cannot be read at all, which ends the look: say what. Raises the error when nothing explains it."""
    outcome.cut_short = True
    for divergence in impossible_moments():
        outcome.add(divergence)
    if not outcome.diverged:
        raise error


def _audit_whole(outcome: Outcome, moored: Moored) -> None:
    """What only a look at everything can tell: keys and ids across threads, anchored threads that are gone."""
    told = {divergence.place.thread for divergence in outcome.divergences}
    for divergence in breaches(told):
        outcome.add(divergence)
    for thread in moored.unmet():
        try:
            moored.missing(thread, last=0)
        except Divergence as divergence:
            outcome.add(divergence)


def explain(thread: UUID) -> State | Divergence:
    """Where one thread stands by its ledger, or why that cannot be said. Nothing is remembered."""
    state: State | Divergence = State(thread)
    with snapshot(), closing(threads(Scope(AuditScope.THREADS, threads=(thread,)))) as views:
        for view in views:
            try:
                state = replay(view.id, view.records)
                compare(state, view.tables)
            except Divergence as divergence:
                state = divergence
    return state


def _remember(outcome: Outcome) -> None:
    """Keep what came of it, for the dashboard and for the publication of results."""
    moment = outcome.moment
    with one_transaction():
        Audit.objects.create(
            at=moment.at,
            server=moment.server,
            snapshot=moment.snapshot,
            scope=outcome.scope.kind,
            lanes=list(outcome.scope.lanes),
            result=outcome.result,
            records=outcome.records,
            threads=outcome.threads,
            skipped=outcome.skipped,
            diverged=outcome.diverged,
            words=outcome.words,
        )
