"""The verbs of authors and runners: submit, claim, and what the holder of a lease may say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.contract.interface import Answer, Handout, Id, Receipt
from tests.contract.model.things import Entry, Lease, Sent, Thread, refuse

if TYPE_CHECKING:
    from tests.contract.model.store import Model

DEFAULT_LEASE, SHORTEST_LEASE, LONGEST_LEASE = 600, 60, 3600
GRACE = 60
"""Seconds beyond a problem's own time after the claim, to which a renewal may lead (channel-protocol §4)."""
FREE_RELEASES = 3
LONGEST_VERDICT, LONGEST_OUTSIDE = 64, 200


class Holders:
    """Half of a client."""

    store: Model

    def __init__(self, store: Model) -> None:
        self.store = store

    def submit(
        self, lane, *, organization=None, author=None, scope="", key=None, thread=None,
        content="", source="", only_if_idle=False, urgent=False,
    ) -> Receipt:  # fmt: skip
        store = self.store
        asked = (thread, lane, content, source, only_if_idle, urgent)
        with store.lock:
            if key is not None and (organization, scope, key) in store.tickets:
                before, receipt = store.tickets[organization, scope, key]
                if before != asked:
                    refuse("submission.key.reused")
                return Receipt(receipt.submission, receipt.job, existing=True)
            known = store.threads.get((organization, thread)) if thread is not None else None
            if only_if_idle and known and any(job.open for job in known.jobs):
                refuse("submission.busy")
            held = known or Thread(store, store.lanes[lane])
            submission = store.new("submission")
            store.threads[(organization, thread) if thread is not None else submission] = held
            store.submissions[submission] = Sent(held, author, lane)
            receipt = Receipt(submission, self.store.open(submission, urgent=urgent))
            if key is not None:
                store.tickets[organization, scope, key] = (asked, receipt)
            return receipt

    def claim(self, runner, *, lease_seconds=None) -> Handout | None:
        return self._claim(runner, clamped(lease_seconds, DEFAULT_LEASE))

    def _claim(self, runner: Id, granted: float, *, channel: bool = False) -> Handout | None:
        store = self.store
        with store.lock:
            asks = store.runners.get(runner)
            if asks is None or asks.standing != "approved":
                refuse("runner.notApproved")
            if store.level != "open" or (asks.external and not store.external):
                return None
            while True:
                if (offered := store.offered(runner)) is None:
                    # Nothing waits: what lapsed is met one by one, longest lapsed first, until something does.
                    if not self.store.end_lapsed(most=1):
                        return None
                    continue
                job = store.jobs[offered]
                if job.deliveries < job.cap:
                    return self._hand_out(job, runner, granted, channel=channel)
                job.give_up(job.cause)

    def _hand_out(self, job: Entry, runner: Id, granted: float, *, channel: bool) -> Handout:
        now = self.store.clock
        latest = now + job.thread.lane.timeout + GRACE
        number = self.store.number()
        token = self.store.new("token")
        lease = Lease(token, runner, granted, now + granted, latest, claimed=number, moved=number, channel=channel)
        job.hands.append((runner, token))
        job.state, job.lease, job.cause = "running", lease, ""
        job.fence += 1
        job.deliveries += 1
        return Handout(job.id, job.submission, job.attempt, lease.token, runner, granted, lease.until, job.outside)

    def undo_handout(self, job, token) -> None:
        with self.store.lock:
            row = self.store.jobs.get(job)
            if row and row.lease and row.lease.token == token and not row.lease.heard:
                self.store.lose(row, "hand-out undone")

    def _gate(self, job: Id, token: Id | None, runner: Id) -> tuple[Entry, Lease]:
        """Exists, token current, owner, running; passing it is being heard (runner-protocol §5).

        A run whose outcome has arrived runs no more (channel-protocol §4: completed).
        """
        row = self.store.jobs.get(job) or refuse("not_found")
        if row.lease is None or token is None or row.lease.token != token:
            refuse("runner.lease.stale")
        if row.lease.runner != runner:
            refuse("runner.lease.foreign")
        if row.outcome is not None:
            refuse("job.state")
        row.lease.heard = True
        return row, row.lease

    def renew(self, job, token, runner, *, lease_seconds=None) -> float:
        with self.store.lock:
            _, lease = self._gate(job, token, runner)
            asked = self.store.clock + clamped(lease_seconds, lease.granted)
            if asked < lease.latest and asked >= lease.until:
                lease.until, lease.moved = asked, self.store.number()
            elif lease.latest > lease.until and asked >= lease.latest:
                lease.until, lease.moved = lease.latest, lease.claimed
            return lease.until

    def progress(self, job, token, runner, *, outside=None) -> None:
        if outside is not None and not (outside.strip() and len(outside) <= LONGEST_OUTSIDE):
            refuse("malformed_request")
        with self.store.lock:
            row, _ = self._gate(job, token, runner)
            self.renew(job, token, runner)
            if outside is not None and outside != row.outside:
                if row.admitted:
                    refuse("job.admitted")
                row.admitted, row.outside = True, outside

    def attach(self, job, token, runner, *, name) -> None:
        with self.store.lock:
            _, lease = self._gate(job, token, runner)
            if name in lease.roles:
                refuse("attempt.file.duplicate")
            lease.roles.add(name)

    def release(self, job, token, runner) -> None:
        with self.store.lock:
            row, _ = self._gate(job, token, runner)
            row.releases += 1
            (row.come_back_free if row.releases <= FREE_RELEASES else row.come_back_counted)("released")
            self.store.give_way(row)

    def report(self, job, token, runner, *, verdict="Accepted", infrastructure=None) -> Answer:
        with self.store.lock:
            row = self.store.jobs.get(job) or refuse("not_found")
            if token is None:
                refuse("runner.lease.malformed")
            of, by, result, _ = self.store.results.get(token, (None, None, "", ""))
            if of is row and by == runner:
                return Answer(row.state, result, duplicate=True)
            self._gate(job, token, runner)
            if infrastructure is not None and row.deliveries < row.cap:
                row.come_back(infrastructure)
                self.store.give_way(row)
                return Answer(row.state, None, duplicate=False)
            if infrastructure is None and not verdict.strip():
                refuse("result.verdict.missing")
            if infrastructure is None and len(verdict) > LONGEST_VERDICT:
                refuse("result.verdict.tooLong")
            return self._finish(row, token, runner, verdict=verdict, infrastructure=infrastructure)

    def _finish(self, row: Entry, token: Id, runner: Id, *, verdict: str, infrastructure: str | None) -> Answer:
        result = self.store.new("result")
        self.store.results[token] = (row, runner, result, "" if infrastructure is not None else verdict)
        if infrastructure is None:
            row.end("completed")
            row.admitted = True
        else:
            row.give_up(f"infrastructure failure: {infrastructure}")
        return Answer(row.state, result, duplicate=False)


def clamped(asked: float | None, default: float) -> float:
    """What was asked, within the published bounds, in whole seconds; never refused (seed 000)."""
    return default if asked is None else int(min(max(asked, SHORTEST_LEASE), LONGEST_LEASE))
