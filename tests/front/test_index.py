"""The waiter index: who is woken, in which order, and that no wake is lost, whatever the interleaving."""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from hypothesis import given, settings
from hypothesis import strategies as st

from judging.wake import Fits, Work
from judging.wake.index import REMEMBERED, Index


def fits(*kinds, external=False, pools=("default",)):
    return Fits(frozenset(kinds), external, frozenset(pools))


def work(kind, *, external=False, pools=("default",)):
    return Work(kind, external, frozenset(pools))


def index_with(*waiters):
    index = Index()
    for name, wanted in waiters:
        assert index.park(name, wanted, since=index.heard)
    return index


def test_the_longest_parked_waiter_is_woken_first():
    index = index_with(("first", fits("a")), ("second", fits("a", "b")), ("third", fits("b")))

    assert [index.work(work("b")), index.work(work("a")), index.work(work("a"))] == ["second", "first", None]


def test_the_longest_parked_of_several_pools_is_woken_once():
    index = index_with(("red", fits("a", pools=("red",))), ("both", fits("a", pools=("red", "blue"))))

    woken = [index.work(work("a", pools=("blue", "red"))) for _ in range(3)]

    assert woken == ["red", "both", None]


def test_a_waiter_is_woken_for_its_own_kind_alone():
    index = index_with(("waiter", fits("a", external=True, pools=("red",))))

    assert index.work(work("b", external=True, pools=("red",))) is None
    assert index.work(work("a", external=False, pools=("red",))) is None
    assert index.work(work("a", external=True, pools=("default",))) is None
    assert index.work(work("a", external=True, pools=("red",))) == "waiter"


def test_whoever_left_is_not_woken():
    index = index_with(("gone", fits("a")), ("here", fits("a")))

    index.leave("gone")

    assert index.work(work("a")) == "here"
    assert len(index) == 0


def test_work_announced_since_the_look_began_refuses_the_parking():
    index = Index()
    since = index.heard
    index.work(work("a"))

    assert not index.park("waiter", fits("a"), since=since)
    assert index.park("waiter", fits("b"), since=since)
    assert index.park("later", fits("a"), since=index.heard)


def test_a_broad_change_since_the_look_began_refuses_every_parking():
    index = index_with(("parked", fits("b")))
    since = index.heard

    assert index.everyone() == ["parked"]

    assert not index.park("waiter", fits("a"), since=since)
    assert len(index) == 1


def test_a_verdict_wakes_all_who_await_it_and_nobody_else():
    one, other = uuid4(), uuid4()
    index = index_with(("x", one), ("y", other), ("z", one))
    since = index.heard

    assert index.about(one) == ["x", "z"]

    assert not index.park("late", one, since=since)
    assert index.about(other) == ["y"]


def test_forgetting_old_announcements_costs_a_look_and_never_a_wake():
    index = Index()
    index.work(work("a"))
    since = index.heard
    for _ in range(REMEMBERED + 1):
        index.about(uuid4())

    assert not index.park("waiter", fits("a"), since=since)
    assert index.park("waiter", fits("a"), since=index.heard)


WANTED = [fits("a"), fits("a", pools=("red", "default")), fits("a", "b", pools=("red",))]
OFFERED = [work("a"), work("a", pools=("default", "red")), work("b", pools=("red",))]


@dataclass(eq=False)
class Waiter:
    """A caller as the front drives it: parked or out looking, the wake it spends, what its look brought."""

    wanted: Fits
    since: int = 0
    wake: Work | None = None
    out: bool = True
    read: bool = False
    got: bool = False


def suits(wanted, offered):
    return offered.problem_type in wanted.problem_types and bool(offered.pools & wanted.pools)


class Hall:
    """Jobs are committed, announced a moment later and merged; looks begin, read and end in any order between."""

    def __init__(self):
        self.index = Index()
        self.jobs = Counter()
        self.unannounced = []
        self.waiters = []

    def steps(self, random):
        """What may happen next. Arrivals outnumber jobs, so that most wait."""
        yield self.settle
        yield from (partial(self.arrive, wanted) for wanted in WANTED)
        yield partial(self.commit, random.choice(OFFERED), random.choice([1, 2]))
        yield from (partial(self.announce, offered) for offered in self.unannounced)
        for waiter in self.waiters:
            step = self.look_unasked if not waiter.out else self.end if waiter.read else self.read
            yield partial(step, waiter)
            if not waiter.got:
                yield partial(self.leave, waiter)

    def arrive(self, wanted):
        waiter = Waiter(wanted)
        self.waiters.append(waiter)
        self.begin(waiter)

    def commit(self, offered, count):
        self.jobs[offered] += count
        if offered not in self.unannounced:
            self.unannounced.append(offered)

    def announce(self, offered):
        self.unannounced.remove(offered)
        self.woken(self.index.work(offered), offered)

    def begin(self, waiter):
        waiter.out, waiter.read, waiter.got, waiter.since = True, False, False, self.index.heard

    def read(self, waiter):
        waiter.read = True
        found = next((job for job, count in self.jobs.items() if count and suits(waiter.wanted, job)), None)
        if found is not None:
            self.jobs[found] -= 1
            waiter.got = True

    def end(self, waiter):
        if waiter.got:
            self.leave(waiter)
            return
        waiter.wake = None
        waiter.out = not self.index.park(waiter, waiter.wanted, since=waiter.since)
        if waiter.out:
            self.begin(waiter)

    def look_unasked(self, waiter):
        self.index.leave(waiter)
        self.begin(waiter)

    def leave(self, waiter):
        self.index.leave(waiter)
        self.waiters.remove(waiter)
        if waiter.wake is not None:
            self.woken(self.index.take(waiter.wake), waiter.wake)

    def woken(self, waiter, offered):
        if waiter is not None:
            assert suits(waiter.wanted, offered)
            waiter.wake = offered
            self.begin(waiter)

    def settle(self):
        """Hear all that was announced, end all looks, begin no other."""
        while self.unannounced:
            self.announce(self.unannounced[0])
        while busy := [waiter for waiter in self.waiters if waiter.out]:
            for waiter in busy:
                (self.end if waiter.read else self.read)(waiter)


@settings(max_examples=800, deadline=None)
@given(st.randoms(use_true_random=True))
def test_whatever_the_interleaving_no_waiter_stays_parked_beside_its_work(random):
    hall = Hall()
    for _ in range(50):
        random.choice(list(hall.steps(random)))()

    hall.settle()

    left = [job for job, count in hall.jobs.items() if count]
    assert not [(waiter, job) for waiter in hall.waiters for job in left if suits(waiter.wanted, job)]
    assert len(hall.index) == len(hall.waiters)


def test_what_is_decided_of_a_runner_wakes_its_own_waits_and_no_others():
    index: Index[str] = Index()
    mine, other = uuid4(), uuid4()
    index.park("mine", fits("a"), since=index.heard, runner=mine)
    index.park("other", fits("a"), since=index.heard, runner=other)

    assert index.about(mine) == ["mine"]
    assert not index.park("mine", fits("a"), since=0, runner=mine)
    assert index.work(work("a")) == "other"
