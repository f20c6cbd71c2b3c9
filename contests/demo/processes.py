"""The programs of the play. Each has a session of its own, so that Ctrl-C reaches only who tells them to stop.

None outlives the demo: they are stopped in turn, and a demo that is killed takes them along by the kernel's word.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from django.conf import settings

PR_SET_PDEATHSIG = 1
STOP_SECONDS = 15.0
TAIL_LINES = 20

_libc = ctypes.CDLL(None)


class Died(Exception):
    """A program of the demo ended by itself; the message has its last words."""


class Child:
    """One program, and the file that holds what it says."""

    def __init__(self, name: str, argv: Sequence[str], *, log: Path, env: Mapping[str, str]) -> None:
        """Start it. `env` is added to this process's own."""
        self.name = name
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **env},
                cwd=settings.BASE_DIR,
                start_new_session=True,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - it is one call of C
            )

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def must_live(self) -> None:
        """Raise Died when it ended."""
        if self.exit_code is not None:
            raise Died(f"{self.name} ended with {self.exit_code}. Its last words, from {self.log}:\n{self.last_words()}")

    def kill(self) -> None:
        """SIGKILL, as a power cut would: no chance to say anything to anybody."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Ask it to end, and do not wait."""
        if self.exit_code is None:
            self._process.terminate()

    def stop(self) -> None:
        """Ask it to end; end it with all it started when it does not."""
        self.end()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            # Its own group, which lives as long as it does.
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def last_words(self) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-TAIL_LINES:])


def _end_with_parent() -> None:
    """In the child, before it becomes its program. One call of C: nothing of Python's is safe here."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
