"""One worker: claim, keep the lease, judge, report, again (runner-agent §1)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from runners.agent.answers import LeaseLost, NotEnrolled, Refused, Revoked, Unreachable
from runners.agent.api import Api
from runners.agent.backoff import Backoff
from runners.agent.deliver import Courier, Delivered
from runners.agent.enrolment import Enrolment
from runners.agent.errors import AgentError, InfrastructureFailure, Interrupted, Unavailable
from runners.agent.job import Claim, File
from runners.agent.judgement import Progress
from runners.agent.lease import Keeper
from runners.agent.outbox import Outbox
from runners.agent.spool import Finished
from runners.agent.work import Workshop

log = logging.getLogger(__name__)
FETCH_TRIES = 8


class Phase(StrEnum):
    """What a worker is at, for whoever stops the agent."""

    CLAIMING = "claiming"
    WORKING = "working"
    DELIVERING = "delivering"


@dataclass(frozen=True, slots=True)
class Habits:
    """How this agent asks for work."""

    lease_s: int = 600
    wait_s: int = 25


class Worker:
    """Holds at most one job at a time."""

    def __init__(
        self, *, api: Api, workshop: Workshop, outbox: Outbox, enrolment: Enrolment, habits: Habits, stop: threading.Event
    ) -> None:
        self._api = api
        self._workshop = workshop
        self._outbox = outbox
        self._enrolment = enrolment
        self._habits = habits
        self._stop = stop
        self._backoff = Backoff()
        self.phase = Phase.CLAIMING

    def work(self, progress: Progress) -> None:
        """Until the agent stops. Raises Revoked, Unavailable, Interrupted."""
        self._enrolment.ensure(0)
        while not self._stop.is_set():
            seen = self._enrolment.times
            try:
                self._turn(progress)
            except NotEnrolled as error:
                log.warning("not accepted any more: %s", error)
                self._enrolment.ensure(seen)
            except (Interrupted, Revoked, Unavailable):
                raise
            except Exception:
                # Nobody watches a judging machine at night: what one job did must not cost all that come after it.
                log.exception("a turn failed")
                self._sleep(self._backoff.delay_s())

    def _turn(self, progress: Progress) -> None:
        self._outbox.resend()
        claim = self._claim()
        if claim is None:
            return
        self._backoff.reset()
        if self._stop.is_set():
            self._release(claim)
            return
        self.phase = Phase.WORKING
        try:
            self._hold(claim, progress)
        except AgentError:
            raise
        except Exception:
            # What failed here is a fault of ours or of the machine: another may have the job now, and not only when the lease is over.
            self._release(claim)
            raise
        finally:
            self.phase = Phase.CLAIMING

    def _claim(self) -> Claim | None:
        """A job; or None, having waited as long as is fit before the next asking."""
        began = time.monotonic()
        try:
            claim = self._api.claim(lease_s=self._habits.lease_s, wait_s=self._habits.wait_s)
        except Unreachable as error:
            log.warning("no claim: %s", error)
            self._sleep(self._backoff.delay_s(error.retry_after_s))
            return None
        except Refused as error:
            log.error("claim refused: %s", error)
            self._sleep(self._backoff.delay_s())
            return None
        if claim is None:
            self._rest(time.monotonic() - began)
        return claim

    def _rest(self, held_s: float) -> None:
        """After an empty answer: a claim that was really held open is asked again at once, one answered quickly after a pause."""
        if self._habits.wait_s and held_s >= self._habits.wait_s / 2:
            self._backoff.reset()
        else:
            self._sleep(self._backoff.delay_s())

    def _sleep(self, seconds: float) -> bool:
        return not self._stop.wait(seconds)

    def _hold(self, claim: Claim, progress: Progress) -> None:
        began = time.monotonic()
        with Keeper(self._api, claim, lease_s=self._habits.lease_s) as keeper:
            finished = self._judge(claim, keeper, progress)
            if finished is None:
                if not keeper.lost():
                    self._release(claim)
                _journal(claim, "dropped" if keeper.lost() else "released", time.monotonic() - began)
                return
            self.phase = Phase.DELIVERING
            place = self._outbox.put(finished)
            delivered = self._outbox.send(place, finished, self._courier(keeper))
        _journal(claim, delivered, time.monotonic() - began, finished)

    def _judge(self, claim: Claim, keeper: Keeper, progress: Progress) -> Finished | None:
        """What to report; None when the job is lost or the agent stops."""

        def cancelled() -> bool:
            return keeper.lost() or self._stop.is_set()

        try:
            self._say_it_arrived(claim)
            return self._workshop.work(claim, self._fetcher(claim, cancelled), cancelled, progress)
        except LeaseLost as error:
            log.info("job %s is not ours any more: %s", claim.job_id, error.code)
            keeper.lose()
        except Interrupted:
            log.info("judging of job %s stopped", claim.job_id)
        return None

    def _say_it_arrived(self, claim: Claim) -> None:
        """A claim that is heard of is told from one whose answer was lost (seed 000). Raises LeaseLost."""
        try:
            self._api.progress(claim)
        except LeaseLost:
            raise
        except (Unreachable, Refused) as error:
            log.warning("job %s: progress not said: %s", claim.job_id, error)

    def _fetcher(self, claim: Claim, cancelled: Callable[[], bool]) -> Callable[[File, Path], None]:
        """Downloads that insist, within reason, and tell a lost lease from a lost file."""

        def fetch(file: File, target: Path) -> None:
            backoff, said = Backoff(), ""
            for _ in range(FETCH_TRIES):
                try:
                    self._api.download(file, target, cancelled=cancelled)
                except LeaseLost:
                    self._say_it_arrived(claim)
                    raise InfrastructureFailure(f"the server does not give the job's {file.role}") from None
                except Refused as error:
                    raise InfrastructureFailure(f"the server does not give the job's {file.role}: {error}") from error
                except Unreachable as error:
                    said = str(error)
                    log.warning("job %s: %s not fetched: %s", claim.job_id, file.role, error)
                    self._sleep(backoff.delay_s(error.retry_after_s))
                else:
                    return
                if cancelled():
                    raise Interrupted
            raise InfrastructureFailure(f"the job's {file.role} cannot be fetched: {said}")

        return fetch

    def _courier(self, keeper: Keeper) -> Courier:
        """Insists while the lease lasts; a stopping agent leaves the rest to its next start."""
        return Courier(self._api, pause=lambda delay: keeper.held() and self._sleep(delay))

    def _release(self, claim: Claim) -> None:
        try:
            self._api.release(claim)
            log.info("job %s released", claim.job_id)
        except AgentError as error:
            log.info("job %s not released: %s", claim.job_id, error)


def _journal(claim: Claim, end: str | Delivered, seconds: float, finished: Finished | None = None) -> None:
    """The one line of a job."""
    report = finished.report if finished else {}
    log.info(
        "job=%s submission=%s attempt=%d type=%s end=%s verdict=%r score=%s reason=%r seconds=%.2f",
        *(claim.job_id, claim.submission_id, claim.attempt, claim.problem_type, end),
        *(report.get("verdict", ""), report.get("score", ""), str(report.get("failureReason", ""))[:300], seconds),
    )
