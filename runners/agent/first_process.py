"""Being the first process of a container: whatever loses its parent becomes its child, and stays a zombie unless it is waited for.

bwrap leaves one such child a run. Without this a container without an init of its own runs out of process ids in the
middle of a contest.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

FORWARDED = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})


def below_an_init(work: Callable[[], int]) -> int:
    """Do the work; as the first process, in a child, and wait for everything there is meanwhile. Answers the work's exit code."""
    if os.getpid() != 1:
        return work()
    # A first process is sent no signal that it does not ask for: none may come before it does.
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
        return work()
    for number in FORWARDED:
        signal.signal(number, lambda number, _: os.kill(child, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    return _wait_for(child)


def _wait_for(child: int) -> int:
    """Collect whatever ends until the child does. Its end by a signal is told as a shell tells it."""
    while True:
        ended, status = os.wait()
        if ended == child:
            sys.stdout.flush()
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
