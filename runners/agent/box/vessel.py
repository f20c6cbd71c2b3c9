"""The part of a box that differs between bubblewrap and `--unsafe`: one started process tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from runners.agent.blob import Blob
from runners.agent.box.run import Usage


class Vessel(Protocol):
    """A process tree under way."""

    stdout: int | None
    """Read end of the captured stdout, -1 closed; None when it goes elsewhere."""

    stderr: int
    done: int
    """A descriptor that becomes readable when the command has ended."""

    def start(self) -> None:
        """Up to the moment before the command begins. `clear` must follow, whatever happens."""

    def go(self) -> None:
        """Let the command begin."""

    def usage(self) -> Usage:
        """The counters now. Cheap enough to ask a hundred times a second."""

    def waited_ns(self) -> int:
        """How long living threads were runnable without a processor."""

    def ended(self) -> bool:
        """Whether the command has ended, now that `done` is readable."""

    def kill(self) -> None:
        """End the whole tree. May be called again and at any time."""

    def settle(self) -> int:
        """Wait until nothing of the tree lives, and answer the command's exit code. Idempotent."""

    def kept(self, name: str, limit: int) -> Mapping[str, Blob]:
        """The artefacts below `name`, after settling. Raises BadArtefact."""

    def clear(self) -> None:
        """Remove every trace. Idempotent."""
