"""Judging many submissions again as one decision. The verbs, in life order:

begin       what was chosen becomes a rejudging; nothing is opened yet
            then every sweep opens its attempts, some at a time: judging.queue.work_off
apply       results that were kept aside count, all at once
cancel      nothing more is opened, and what waits is ended

set_aside   which attempts count for nothing now: for whoever decides what counts
"""

from judging.rejudging.begin import MOST, NothingChosen, Preview, TooManyChosen, Wanted, begin, preview
from judging.rejudging.compare import Comparison, Progress, compare, progress
from judging.rejudging.counting import set_aside
from judging.rejudging.settle import NotToBeApplied, NotToBeCancelled, StillJudging, apply, cancel

__all__ = [
    "MOST",
    "Comparison",
    "NotToBeApplied",
    "NotToBeCancelled",
    "NothingChosen",
    "Preview",
    "Progress",
    "StillJudging",
    "TooManyChosen",
    "Wanted",
    "apply",
    "begin",
    "cancel",
    "compare",
    "preview",
    "progress",
    "set_aside",
]
