"""The demo from curtain to curtain."""

from __future__ import annotations

import signal
import sys
import time
from types import FrameType

from django.core.management import call_command
from django.db import connections

from contests.demo import seed
from contests.demo.board import Board
from contests.demo.caller import Caller
from contests.demo.cast import ENDING, NAMES, Cast
from contests.demo.play import Entry, Recovery, send_all, watch
from contests.demo.processes import Died
from contests.demo.solutions import LANGUAGES, PATIENT, Solution, in_languages
from runners.agent.languages import find_toolchains

BANNER = """\
======================================================================
  ASSIZE DEMO: its passwords are published.
  For trying out on this machine, never for a contest.
======================================================================"""
AS_EXPECTED, NOT_AS_EXPECTED, LEFT_EARLY = 0, 1, 130


class Show:
    """One performance. Whatever happens in it, `end` leaves no process behind."""

    def __init__(self, cast: Cast, board: Board) -> None:
        self._cast = cast
        self._board = board

    def run(self, *, with_runners: bool, stay: bool) -> int:
        """All of it; answers the exit code. Raises NotHere, Died, Unexpected."""
        for number in ENDING:
            signal.signal(number, _leave)
        code = LEFT_EARLY
        try:
            self._prepare(with_runners=with_runners)
            code = self._perform() if with_runners else AS_EXPECTED
            if stay:
                self._say_addresses(with_runners=with_runners)
                self._stay()
            else:
                self._board.say(f"\nStopping. The logs are in {self._cast.folder}. Without --exit the site keeps running.")
        except KeyboardInterrupt:
            self._board.say("\nStopping.")
        finally:
            self._cast.end()
        return code

    def _prepare(self, *, with_runners: bool) -> None:
        """The contest is made and the doors are open."""
        self._board.say(BANNER, style="bold red")
        self._board.say("Preparing the database and the contest.")
        call_command("migrate", verbosity=0, interactive=False)
        seed.seed()
        left = seed.clear_left_over() if with_runners else 0
        if left:
            self._board.say(f"Cancelled {left} programs that an earlier demo left waiting.")
        connections.close_all()
        self._board.say("Starting the server.")
        self._cast.serve(short_leases=with_runners)
        self._board.say(f"It answers at {self._cast.base}")

    def _stay(self) -> None:
        """Serve until Ctrl-C. Raises Died."""
        self._board.say("Serving until Ctrl-C.", style="bold")
        while True:
            self._cast.must_live()
            time.sleep(1)

    def _perform(self) -> int:
        """The play; the exit code it deserves."""
        with self._caller(*seed.OPERATOR) as operator, self._caller(*seed.STUDENTS[0]) as student:
            self._board.say("Starting two runners, and approving their keys as the operator.")
            self._board.say("Leases last at most 10 seconds here, so that a lost one is seen to run out.")
            self._cast.judge(operator)
            entries, recovery = self._send(student)
            self._board.say(f"Sent in {len(entries)} programs as {seed.STUDENTS[0][0]}.")
            with self._board.watching():
                watch(entries, look=lambda: operator.submissions(seed.ACTIVITY), each=lambda: self._each(entries, recovery))
        return self._conclude(entries, recovery)

    def _caller(self, name: str, password: str) -> Caller:
        return Caller(self._cast.base, name=name, password=password)

    def _send(self, student: Caller) -> tuple[list[Entry], Recovery]:
        student.enrol(seed.ACTIVITY)
        entries = send_all(student, seed.ACTIVITY, self._known_solutions())
        patient = next(entry for entry in entries if entry.solution is PATIENT)
        return entries, Recovery(patient, self._cast, self._board.say)

    def _known_solutions(self) -> list[Solution]:
        """What this machine has the languages for; what it lacks is said."""
        known = find_toolchains().languages
        if PATIENT.language not in known:
            raise Died("The demo needs a Python that runners can use, such as /usr/bin/python3, and finds none.")
        missing = [spoken for language, spoken in LANGUAGES.items() if language not in known]
        if missing:
            self._board.say(f"Not on this machine, so left out: {', '.join(missing)}.", style="yellow")
        return in_languages(known)

    def _each(self, entries: list[Entry], recovery: Recovery) -> None:
        self._cast.must_live()
        recovery.look()
        self._board.show(entries)

    def _conclude(self, entries: list[Entry], recovery: Recovery) -> int:
        self._board.say("")
        self._board.verdicts(entries)
        self._board.say(recovery.told, style="" if recovery.happened else "bold red")
        wrong = [entry for entry in entries if not entry.right]
        for entry in wrong:
            self._board.say(f"{entry.solution.file}: {entry.attempt.get('reason', 'no reason given')}", style="red")
        good = recovery.happened and not wrong
        self._board.say("Everything came out as expected." if good else "NOT as expected.", style="bold green" if good else "bold red")
        return AS_EXPECTED if good else NOT_AS_EXPECTED

    def _say_addresses(self, *, with_runners: bool) -> None:
        own = f"{sys.executable} -m runners.agent run --server {self._cast.base} --state DIR, then approve its key in the admin"
        runners = ", ".join(NAMES) if with_runners else f"none; one of ours: {own}"
        students = ", ".join(name for name, _ in seed.STUDENTS)
        self._board.say(
            f"\nAdmin         {self._cast.base}/admin/   {' / '.join(seed.OPERATOR)}\n"
            f"Participants  {students} / {seed.STUDENTS[0][1]}, in the activity {seed.ACTIVITY}\n"
            f"Runners       {runners}\n"
            f"API           {self._cast.base}/api/v1/docs/\n"
            f"Logs          {self._cast.folder}"
        )


def _leave(number: int, frame: FrameType | None) -> None:
    """An end by any of these signals is the same: everything is stopped first."""
    raise KeyboardInterrupt
