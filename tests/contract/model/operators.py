"""The verbs of operators and of the clock, and what anybody may read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.contract.interface import Id, Job, Submission, Swept
from tests.contract.model.things import Entry, Sent, refuse

if TYPE_CHECKING:
    from tests.contract.model.store import Model

DEFAULT_POOL = frozenset({"default"})


class Operators:
    """The other half of a client."""

    store: Model

    def rejudge(self, submission, *, urgent=False) -> Id:
        with self.store.lock:
            self._live(submission)
            return self.store.open(submission, urgent=urgent)

    def _open_job(self, job: Id) -> Entry:
        row = self.store.jobs.get(job) or refuse("not_found")
        return row if row.open else refuse("job.state")

    def cancel(self, job) -> None:
        with self.store.lock:
            row = self._open_job(job)
            if row.outcome is not None:
                refuse("job.state")
            row.end("cancelled", "cancelled")

    def give_back(self, job) -> None:
        with self.store.lock:
            row = self._open_job(job)
            if row.lease is None or row.outcome is not None:
                refuse("job.state")
            row.come_back("returned by an operator")
            self.store.give_way(row)

    def prioritise(self, job, priority) -> None:
        with self.store.lock:
            self._open_job(job).priority = priority

    def void(self, job) -> None:
        with self.store.lock:
            row = self.store.jobs.get(job) or refuse("not_found")
            if row.state != "completed" or row.voided:
                refuse("job.state")
            row.voided = True

    def _live(self, submission: Id) -> Sent:
        sent = self.store.submissions.get(submission)
        return sent if sent and not sent.deleted else refuse("not_found")

    def delete(self, submission, *, forget_keys=False) -> bool:
        with self.store.lock:
            sent = self.store.submissions.get(submission) or refuse("not_found")
            if sent.deleted:
                return False
            sent.deleted = True
            for job in [job for job in sent.jobs if job.open]:
                job.end("cancelled", "deleted")
                job.marked = True
            if forget_keys:
                tickets = self.store.tickets
                self.store.tickets = {key: kept for key, kept in tickets.items() if kept[1].submission != submission}
            return True

    def delete_work_of(self, *, authors=(), lanes=()) -> int:
        with self.store.lock:
            sent = self.store.submissions.items()
            doomed = [name for name, of in sent if not of.deleted and (of.author in authors or of.lane in lanes)]
            return sum(self.delete(name) for name in doomed)

    def approve(self, runner) -> None:
        with self.store.lock:
            row = self.store.runners.get(runner) or refuse("not_found")
            if row.standing == "revoked":
                refuse("runner.revoked")
            row.standing = "approved"

    def revoke(self, runner) -> list[Id]:
        with self.store.lock:
            row = self.store.runners.get(runner) or refuse("not_found")
            row.standing = "revoked"
            of = [job for job in self.store.jobs.values() if job.lease and job.lease.runner == runner]
            held = [job for job in of if job.outcome is None]
            for job in held:
                job.come_back("runner revoked")
                self.store.give_way(job)
            return [job.id for job in held]

    def retag(self, runner, tags) -> None:
        self.store.runners[runner].pools = frozenset(tags) or DEFAULT_POOL

    def reroute(self, lane, pools) -> None:
        self.store.lanes[lane].pools = frozenset(pools) or DEFAULT_POOL

    def pause(self, lane) -> None:
        self.store.lanes[lane].paused = True

    def resume(self, lane) -> None:
        self.store.lanes[lane].paused = False

    def maintenance(self, level) -> None:
        self.store.level = level

    def external_judging(self, *, on) -> None:
        self.store.external = on

    def sweep(self) -> Swept:
        with self.store.lock:
            lapsed = self.store.end_lapsed(over_limit=True)
            left = [job.state for job in lapsed]
            processed = self.store.process_left_over()
            if self.store.level == "draining" and not any(job.lease for job in self.store.jobs.values()):
                self.store.level = "closed"
            return Swept(len(lapsed), left.count("queued"), left.count("failed"), orphaned=0, processed=processed)

    def prune(self, lane, *, seconds) -> int:
        with self.store.lock:
            sent = [of for of in self.store.submissions.values() if of.lane == lane]
            moment = self.store.clock - seconds
            old = [job for of in sent for job in of.jobs if job.finished_at is not None and job.finished_at < moment]
            for job in old:
                del self.store.jobs[job.id]
                job.thread.jobs.remove(job)
                self.store.submissions[job.submission].jobs.remove(job)
            gone = {job.id for job in old}
            self.store.tickets = {key: kept for key, kept in self.store.tickets.items() if kept[1].job not in gone}
            return len(old)

    def job(self, job) -> Job:
        with self.store.lock:
            row = self.store.jobs.get(job) or refuse("not_found")
            lease = row.lease
            verdicts = [said for of, _, _, said in self.store.results.values() if of is row]
            stands = Job(
                row.id, row.submission, row.attempt, row.state, row.priority, row.urgent,
                row.deliveries, row.releases, row.refunds, row.fence,
                admitted=row.admitted, outside=row.outside, finished=not row.open, reason=row.cause,
                replaced_by=row.replaced_by, voided=row.voided, marked=row.marked, verdict=verdicts[0] if verdicts else None,
            )  # fmt: skip
            if lease is None:
                return stands
            return replace(stands, token=lease.token, runner=lease.runner, until=lease.until, heard=lease.heard)

    def submission(self, submission) -> Submission:
        with self.store.lock:
            sent = self.store.submissions.get(submission) or refuse("not_found")
            return Submission(sent.deleted, tuple(job.id for job in sorted(sent.jobs, key=lambda job: job.attempt)))
