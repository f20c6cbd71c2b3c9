"""What a store of the run queue offers to the contract. Standard library only: nothing here knows a database.

Ids are whatever the store calls its things by; the contract only compares them and hands them back. Moments are
seconds on the store's own clock, which `Store.forward` alone moves far.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

Id = Hashable
URGENT, CONTEST, PRACTICE, REJUDGE, JURY = range(5)
"""Priority classes, highest first (queue.md §4)."""


class Refused(Exception):
    """The store's no, by its stable code (runner-protocol §2).

    What is refused leaves nothing behind, but that a holder who passed the gate was heard.
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a submit answers; `existing`: an earlier one under the same key had done it."""

    submission: Id
    job: Id
    existing: bool = False


@dataclass(frozen=True, slots=True)
class Handout:
    """A job in a runner's hands. `granted` is the lease in seconds, `outside` an earlier hand-over to resume."""

    job: Id
    submission: Id
    attempt: int
    token: Id
    runner: Id
    granted: float
    until: float
    outside: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a report answers; `result` is None when the job went back to the queue."""

    state: str
    result: Id | None
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep did: leases ended, jobs returned and given up by that, jobs taken from revoked runners.

    `processed` is of the second part (channel.py): outcomes of which it made results.
    """

    lapsed: int
    returned: int
    given_up: int
    orphaned: int
    processed: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    """One job as it is stored. Lease members are None and `heard` is False unless it runs."""

    id: Id
    submission: Id
    attempt: int
    state: str
    priority: int
    urgent: bool
    deliveries: int = 0
    releases: int = 0
    refunds: int = 0
    fence: int = 0
    token: Id | None = None
    runner: Id | None = None
    until: float | None = None
    heard: bool = False
    admitted: bool = False
    outside: str | None = None
    finished: bool = False
    reason: str = ""
    replaced_by: Id | None = None
    voided: bool = False
    marked: bool = False
    verdict: str | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission and its jobs in the order of their attempts."""

    deleted: bool
    jobs: tuple[Id, ...]


class Client(Protocol):
    """One client of a store: every verb, in life order. Each raises Refused with the code of its rule.

    A token of None stands for what cannot be a token.
    """

    def submit(
        self,
        lane: Id,
        *,
        organization: Id | None = None,
        author: Id | None = None,
        scope: str = "",
        key: str | None = None,
        thread: str | None = None,
        content: str = "",
        source: str = "",
        only_if_idle: bool = False,
        urgent: bool = False,
    ) -> Receipt:
        """Work enters. `thread` is the coarse grain's key; `content` and `source` are what is compared under a key."""

    def claim(self, runner: Id, *, lease_seconds: float | None = None) -> Handout | None:
        """A runner takes a job, or None: whatever left the queue empty for it."""

    def undo_handout(self, job: Id, token: Id) -> None:
        """The answer of a claim never left."""

    def renew(self, job: Id, token: Id | None, runner: Id, *, lease_seconds: float | None = None) -> float:
        """The deadline as it is afterwards."""

    def progress(self, job: Id, token: Id | None, runner: Id, *, outside: str | None = None) -> None:
        """The holder still works; perhaps it says under which id it handed the work over."""

    def attach(self, job: Id, token: Id | None, runner: Id, *, name: str) -> None:
        """The holder leaves a file of its own under a role."""

    def release(self, job: Id, token: Id | None, runner: Id) -> None:
        """The holder stops."""

    def report(self, job: Id, token: Id | None, runner: Id, *, verdict: str = "Accepted", infrastructure: str | None = None) -> Answer:
        """A verdict, or an infrastructure failure with its reason."""

    def rejudge(self, submission: Id, *, urgent: bool = False) -> Id:
        """An operator asks for a new attempt; its job."""

    def cancel(self, job: Id) -> None:
        """An operator ends an open job."""

    def give_back(self, job: Id) -> None:
        """An operator returns a held job."""

    def prioritise(self, job: Id, priority: int) -> None:
        """An operator moves an open job to another class."""

    def void(self, job: Id) -> None:
        """An operator takes a result out of the count."""

    def delete(self, submission: Id, *, forget_keys: bool = False) -> bool:
        """A submission is withdrawn; whether this call did it."""

    def delete_work_of(self, *, authors: tuple[Id, ...] = (), lanes: tuple[Id, ...] = ()) -> int:
        """Everything of these authors and in these lanes is withdrawn; how many submissions by this call."""

    def approve(self, runner: Id) -> None:
        """A pending runner may judge."""

    def revoke(self, runner: Id) -> list[Id]:
        """A runner may judge no more, ever; the jobs this took from it."""

    def retag(self, runner: Id, tags: tuple[str, ...]) -> None:
        """A runner serves other pools."""

    def reroute(self, lane: Id, pools: tuple[str, ...]) -> None:
        """A lane is judged by other pools."""

    def pause(self, lane: Id) -> None:
        """A lane hands nothing out."""

    def resume(self, lane: Id) -> None:
        """A lane hands out again."""

    def maintenance(self, level: str) -> None:
        """`open`, `draining` or `closed`."""

    def external_judging(self, *, on: bool) -> None:
        """The installation's switch."""

    def sweep(self) -> Swept:
        """What the clock says is done."""

    def prune(self, lane: Id, *, seconds: float) -> int:
        """The lane's jobs that finished longer ago than this leave, and their keys with them; how many jobs."""

    def job(self, job: Id) -> Job:
        """A job as it stands; not_found when there is none, or none any more."""

    def submission(self, submission: Id) -> Submission:
        """A submission as it stands."""


Act = Callable[[Client], Any]


class Store(Protocol):
    """One queue, empty at first, and the world around it."""

    def client(self) -> AbstractContextManager[Client]:
        """A client for one thread or process; leaving it gives back what it holds, such as a connection."""

    def reopen(self) -> None:
        """Every process of the store ends without a farewell and starts again: only what is durable stays."""

    def forward(self, seconds: float) -> None:
        """Move the store's clock, for every client; never by sleeping or by rewriting stored deadlines."""

    def now(self) -> float:
        """The store's clock."""

    def lane(
        self,
        *,
        problem_type: str = "standard-io@1",
        external: bool = False,
        pools: tuple[str, ...] = ("default",),
        priority: int = CONTEST,
        cap: int = 5,
        timeout: int = 3600,
    ) -> Id:
        """A lane of a new problem; `cap` and `timeout` (seconds of one run) are the problem's own."""

    def runner(
        self,
        *,
        types: tuple[str, ...] = ("standard-io@1",),
        external: bool = False,
        tags: tuple[str, ...] = (),
        approved: bool = True,
    ) -> Id:
        """A registered runner."""

    def unknown(self) -> Id:
        """An id this store never issued and never will: a job, token, runner or submission nobody knows."""

    def in_order(self, job: Id, *acts: Act) -> list[Any]:
        """Let these acts meet at the thread of this job and pass in this order, each with a client of its own.

        What each returned, or the Refused it met. A store with locks holds the thread's while they queue up.
        """
