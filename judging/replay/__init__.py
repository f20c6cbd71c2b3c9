"""PURE: what the ledger says happened, worked out again by the published rules (ledger.md §3, seed 004).

Standard library only: no Django, no database, no clock, no randomness. `python -m judging.replay FILE` replays an
exported ledger wherever there is a Python.

state      what is known of a thread after a record, and the first place where the ledger contradicts itself
machine    `apply`, `replay` and `claimable`
groups     the rules that bind several jobs of one thread, or one record to the next
tables     the database's rows against what the ledger says they are
exported   the files: an exported ledger, and anchors
"""

from judging.replay.machine import apply, claimable, replay
from judging.replay.state import Difference, Divergence, Handout, Judgement, Kind, Place, State, Tale
from judging.replay.tables import Seal, StoredJob, Tables, ThreadColumns, compare, settled

__all__ = [
    "Difference",
    "Divergence",
    "Handout",
    "Judgement",
    "Kind",
    "Place",
    "Seal",
    "State",
    "StoredJob",
    "Tables",
    "Tale",
    "ThreadColumns",
    "apply",
    "claimable",
    "compare",
    "replay",
    "settled",
]
