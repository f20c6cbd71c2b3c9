"""Does the ledger, by the published rules, explain everything the tables hold? (ledger.md §4).

Nothing is stopped for an audit and nothing is repaired by it.

snapshot   one consistent look at the ledger and the tables, thread by thread
streams    what is read of each, and which values come of it
run        `audit` and `explain`
crossing   what must be unique or known across threads
proof      what audits have shown: `last_audit`, `shown`, `proof_of`, `results_are_proved`
"""

from judging.audit.proof import Shown, last_audit, newest_mark, proof_of, results_are_proved, shown
from judging.audit.run import Outcome, audit, explain
from judging.audit.snapshot import Moment, Scope

__all__ = [
    "Moment",
    "Outcome",
    "Scope",
    "Shown",
    "audit",
    "explain",
    "last_audit",
    "newest_mark",
    "proof_of",
    "results_are_proved",
    "shown",
]
