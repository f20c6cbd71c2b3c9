"""A queue of a hundred thousand open jobs over ten thousand threads, or behind millions of judged ones, beside an empty one.

Two databases, a thread with a connection to each, and turn about verb by verb, so that a busy machine is busy for both. In
the empty one each job that is sent in is taken and judged before the next; in the full one what is taken is the oldest of
all, as many are open all the time.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from itertools import cycle
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import connection, connections
from django.test import Client
from psycopg.conninfo import conninfo_to_dict

from judging import queue
from judging.bench import load
from judging.bench.loaded import Library
from judging.bench.measure import WARM, Figure, Spread, ratio
from judging.bench.population import populate
from judging.bench.scratch import Connection, direct, scratch_database, use
from judging.bench.size import Size
from judging.bench.verbs import Clocked
from judging.queue import NewSubmission, SourceFile

EACH = 10
"""Open jobs a thread."""
MOST = 1.5
_LANES = 8
_SLUG = "bench"
# A contest around the lanes, so that a participant can ask. Of contests this knows the tables alone.
_CONTEST = f"""
WITH activity AS (
    INSERT INTO contests_activity (id, slug, title, pools, priority, grain, enrolment_open, demo, created_at)
    VALUES (gen_random_uuid(), '{_SLUG}', 'Bench', '{{}}', 1, 'contestant', false, false, now()) RETURNING id),
round AS (
    INSERT INTO contests_round (id, activity_id, position, title, pools)
    SELECT gen_random_uuid(), id, 1, 'Round', '{{}}' FROM activity RETURNING id),
assignment AS (
    INSERT INTO contests_assignment (id, round_id, problem_id, slug, position, lane_id)
    SELECT gen_random_uuid(), r.id, l.problem_id, 'p' || l.place, l.place, l.id
    FROM round r, (SELECT id, problem_id, row_number() OVER (ORDER BY id) AS place FROM judging_lane WHERE id = ANY(%s)) l)
INSERT INTO contests_participant (id, activity_id, user_id, name, joined_at)
SELECT gen_random_uuid(), a.id, %s, 'Team', now() FROM activity a RETURNING id
"""


@dataclass(slots=True)
class Side:
    """One of the two queues, who works in it, and what the verbs took: each round's median, in milliseconds."""

    database: str
    into: Library
    runner: UUID
    author: UUID
    reader: Client
    shared: Iterator[tuple[str, UUID]]
    hand: ThreadPoolExecutor
    medians: dict[str, list[float]] = field(default_factory=dict)

    def once(self, clock: Clocked) -> None:
        """Every verb, on this side's own connection."""
        self.hand.submit(self._once, clock).result()

    def keep(self, clock: Clocked) -> None:
        """A round is over."""
        for verb, spent in clock.spent.items():
            self.medians.setdefault(verb, []).append(statistics.median(spent) * 1000)

    def leave(self) -> None:
        """Hang up; the connection must have been to the right database all along."""
        assert self.hand.submit(lambda: connection.connection.info.dbname).result() == self.database
        self.hand.submit(connections.close_all).result()
        self.hand.shutdown()

    def _once(self, clock: Clocked) -> None:
        key, lane = next(self.shared)
        receipts = [
            clock.time("submit, a thread of its own", lambda: self._submit(self.into.lanes[0], None)),
            clock.time("submit, into a contestant's thread", lambda: self._submit(lane, key)),
        ]
        clock.time("await, one look by its author", lambda: self._look(receipts[0].submission))
        for _ in receipts:
            job = clock.time("claim", lambda: queue.claim(self.runner))
            assert isinstance(job, queue.ClaimedJob), "the queue ran dry"
            row, said = job.row, queue.Report(verdict="Accepted", score=1.0, max_score=1.0)
            clock.time("report", partial(queue.report, row.id, said, token=row.token, runner=self.runner))

    def _submit(self, lane: UUID, key: str | None) -> queue.Receipt:
        files = (SourceFile("source", "main.py", self.into.source, "0" * 64),)
        new = NewSubmission(lane=lane, version=self.into.version, files=files, author=self.author, thread_key=key)
        return queue.submit(new, actor="user:1")

    def _look(self, submission: UUID) -> None:
        answer = self.reader.get(f"/api/v1/activities/{_SLUG}/submissions/{submission}?waitSeconds=20")
        assert answer.status_code == HTTPStatus.OK, answer.content


def threads(address: str, size: Size) -> Iterator[Figure]:
    """Every verb's median in the full queue against the empty one's."""
    name = f"{size.threads * EACH:,} open over {size.threads:,} threads"
    yield from compared(address, size, name, stock=lambda crowded: side(crowded, size.threads))


def past(address: str, size: Size) -> Iterator[Figure]:
    """Every verb's median behind all that was ever judged against those of a new installation."""

    def stock(crowded: str) -> Side:
        with direct(crowded) as straight:
            populate(straight, size.past)
        return side(crowded, 0)

    yield from compared(address, size, f"{size.past:,} submissions judged before", stock=stock)


def compared(address: str, size: Size, name: str, *, stock: Callable[[str], Side]) -> Iterator[Figure]:
    """The verbs in an empty queue, and in a database of its own that `stock` fills, whose address it is given."""
    durable = _commits_wait()
    with scratch_database(durable=durable, beside="_full") as crowded:
        full = stock(crowded)
        use(str(conninfo_to_dict(address)["dbname"]))
        empty = side(address, 0)
        for _ in range(size.rounds):
            _round(empty, full, max(5, size.times // 2))
        for one in (empty, full):
            one.leave()
        use(full.database)
    for verb, medians in full.medians.items():
        ours, bare = Spread.of(medians), Spread.of(empty.medians[verb])
        yield Figure("threads", f"{name}: {verb}", "ms", ours, bare, ratio(ours, bare), most=MOST)


def _round(empty: Side, full: Side, times: int) -> None:
    """So often all verbs once in each, the one and the other first in turn."""
    for _ in range(WARM):
        for one in (empty, full):
            one.once(Clocked())
    clocks = {id(one): Clocked() for one in (empty, full)}
    for number in range(times):
        for one in (empty, full) if number % 2 == 0 else (full, empty):
            one.once(clocks[id(one)])
    for one in (empty, full):
        one.keep(clocks[id(one)])


def side(address: str, count: int) -> Side:
    """This many threads loaded into the database that is used now, and a participant to ask about them."""
    into, runner = load.library(lanes=_LANES), load.machines(1)[0].id
    user = get_user_model().objects.create_user("team")
    reader = Client(SERVER_NAME="localhost")
    reader.force_login(user)
    with direct(address) as straight:
        row = straight.execute(_CONTEST, [into.lanes, user.pk]).fetchone()
        assert row is not None
        begin = datetime.now(UTC) - timedelta(hours=1)
        load.queued(straight, into, count, lane_of=lambda place: into.lanes[place % _LANES], begin=begin, siblings=EACH - 1)
        keys = (_keys(straight) if count else []) or [(f"contestant:{number}", into.lanes[number % _LANES]) for number in range(1000)]
    hand = ThreadPoolExecutor(1)
    database = hand.submit(_connected).result()
    return Side(database, into, runner, row[0], reader, cycle(keys), hand)


def _keys(straight: Connection) -> list[tuple[str, UUID]]:
    """Threads that many submissions wait in, the youngest first: they keep all of theirs while the oldest are judged."""
    return straight.execute("SELECT key, lane_id FROM judging_thread ORDER BY id DESC LIMIT 1000").fetchall()


def _connected() -> str:
    """Connect this thread, for good, to the database that is used now; its name."""
    connection.ensure_connection()
    return str(connection.settings_dict["NAME"])


def _commits_wait() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        return bool(cursor.fetchone()[0] == "on")
