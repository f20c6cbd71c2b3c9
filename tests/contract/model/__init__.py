"""The queue in memory, written from the documents alone: the second opinion that every other store is compared with.

Authority: seeds 000, 001 and 003, queue.md §1-5, runner-protocol §4-8, channel-protocol §4 and §7. It shares no
line with what it judges, keeps mutable things where the store keeps rows, and has one lock where the store has one a
thread. A whole number is its clock.

things      jobs, leases, threads, and how a job leaves a runner's hands
store       what there is, which job is offered, what ends by the clock
holders     the verbs of authors and runners
channel     the verbs of the runner channel, the second part
operators   the verbs of operators, and what anybody may read
"""

from tests.contract.model.store import Model

__all__ = ["Model"]
