"""The cases of the contract, a class for each chapter of the documents; `QueueContract` is all of them."""

from tests.contract.cases.claiming import Claiming, Ordering, Recovering
from tests.contract.cases.deleting import Deleting
from tests.contract.cases.holding import Holding
from tests.contract.cases.lasting import Lasting, Reclaiming
from tests.contract.cases.operating import Operating, Rejudging
from tests.contract.cases.racing import Racing
from tests.contract.cases.reporting import Reporting
from tests.contract.cases.returning import Returning
from tests.contract.cases.submitting import Submitting

__all__ = ["QueueContract"]


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
