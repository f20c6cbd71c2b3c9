"""What can be measured. Each scenario gets an empty database, so that none pays for another's leavings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from judging.bench.acts import enqueue, reaper, retag
from judging.bench.audits import audits
from judging.bench.channels import channels
from judging.bench.claims import claims
from judging.bench.measure import Figure
from judging.bench.pages import pages
from judging.bench.pairs import pairs
from judging.bench.scratch import scratch_database
from judging.bench.size import Size
from judging.bench.threads import past, threads
from judging.bench.verbs import verbs
from judging.bench.waits import waits


@dataclass(frozen=True, slots=True)
class Scenario:
    """A sentence for people, and what yields its figures when it is given a database's address and a size."""

    sentence: str
    run: Callable[[str, Size], Iterator[Figure]]


SCENARIOS = {
    "claims": Scenario("the claim as the queue grows, against a bare SKIP LOCKED claim", claims),
    "pairs": Scenario("claims and reports over HTTP, against half the rate of a view that only authenticates", pairs),
    "waits": Scenario("parked claims and work that trickles in, against a raw ASGI handler parked the same way", waits),
    "channels": Scenario("channels that poll, and work that fits one of them", channels),
    "retag": Scenario("a lane full of work given to another pool, while runners wait", retag),
    "enqueue": Scenario("submissions with waking, against submissions without", enqueue),
    "threads": Scenario("the verbs in a queue of ten open jobs a thread, against an empty one beside it", threads),
    "past": Scenario("the verbs behind all that was judged before, against a new installation beside it", past),
    "reaper": Scenario("leases that lapse together, claims meanwhile, and the audit of it all", reaper),
    "audit": Scenario("the whole of `manage.py audit`, over short threads and long ones", audits),
    "pages": Scenario("every list, filter, search and chart of the operators' site over a large installation", pages),
    "verbs": Scenario("the verbs in process, beside other queues where they are installed", verbs),
}


def run(name: str, size: Size, *, durable: bool) -> Iterator[Figure]:
    """The scenario's figures as they come. `durable`: commits wait for the disk."""
    with scratch_database(durable=durable) as address:
        yield from SCENARIOS[name].run(address, size)
