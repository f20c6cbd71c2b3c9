"""The cases of the contract, a class for each chapter of the documents; `QueueContract` is all of them.

`ChannelContract` is the second part, for a store with a runner channel.
"""

from tests.contract.cases.claiming import Claiming, Ordering, Recovering
from tests.contract.cases.deleting import Deleting
from tests.contract.cases.ending import Ending, Overriding, Processing
from tests.contract.cases.holding import Holding
from tests.contract.cases.lasting import Lasting, Reclaiming
from tests.contract.cases.living import Beating, Limited, Resuming, Silent
from tests.contract.cases.operating import Operating, Rejudging
from tests.contract.cases.racing import Racing
from tests.contract.cases.reporting import Reporting
from tests.contract.cases.returning import Returning
from tests.contract.cases.submitting import Submitting

__all__ = ["ChannelContract", "QueueContract"]


class QueueContract(
    Submitting,
    Claiming,
    Ordering,
    Recovering,
    Holding,
    Returning,
    Reporting,
    Rejudging,
    Operating,
    Deleting,
    Racing,
    Lasting,
    Reclaiming,
):
    """Everything a run queue must do. Subclass it and give it a `store` fixture: docs/contract.md says how."""


class ChannelContract(Beating, Resuming, Limited, Silent, Ending, Processing, Overriding):
    """Everything the runner channel asks of a queue, on top of that; clients of its store are `ChannelClient`s."""
