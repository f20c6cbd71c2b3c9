"""Waking those who wait, without polling: what may be announced, what may be waited for, and the room in between.

Doors that change something call `announce` inside their transaction. Doors that let a caller wait look first, and
park in the process's `Hub` what found nothing. Nothing about correctness rests on a wake (seed 000): every look is a
complete claim, and every parked wait looks again by itself.

topics     what is announced and what is waited for
index      PURE who waits for what, and who is next
hub        the waiting room of one server process
listener   its connection to the other processes
announcing what a transaction calls
passing_by PURE when to look again for what was in other hands
turns      how the threads of a server process share its interpreter
"""

from judging.wake.announcing import announce, attach
from judging.wake.hub import Cause, Hub, Waiter
from judging.wake.listener import Listener
from judging.wake.passing_by import soon
from judging.wake.topics import Concerns, Event, Everyone, Fits, Judged, Look, Work
from judging.wake.turns import take_turns

__all__ = [
    "Cause",
    "Concerns",
    "Event",
    "Everyone",
    "Fits",
    "Hub",
    "Judged",
    "Listener",
    "Look",
    "Waiter",
    "Work",
    "announce",
    "attach",
    "soon",
    "take_turns",
]
