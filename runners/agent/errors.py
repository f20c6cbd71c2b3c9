"""What can go wrong, sorted by what the agent does about it."""

from __future__ import annotations

from collections.abc import Sequence


class AgentError(Exception):
    """Anything the agent knows how to answer."""


class Unavailable(AgentError):
    """The machine cannot judge safely: refuse to start. Carries the one-line remedy."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class InfrastructureFailure(AgentError):
    """The job could not be judged and the participant is not to blame; the sentence is reported."""


class Invalid(InfrastructureFailure):
    """A package or a configuration breaks its format. Every fault found is listed, not only the first."""

    def __init__(self, what: str, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__(f"{what}: {'; '.join(self.faults)}")


class Interrupted(AgentError):
    """The judging was stopped from outside (lease lost or agent stopping): there is no result."""
