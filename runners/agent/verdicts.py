"""The words a verdict can be. The server never interprets them; people and clients do."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """Words of `standard-io@1` (runner-agent §2)."""

    ACCEPTED = "Accepted"
    """Every test passed with all its points."""

    PARTIAL = "Partial"
    """No test failed, but a checker gave less than all the points of one."""

    WRONG_ANSWER = "Wrong answer"
    """The run ended well and its output is not what was asked."""

    TIME_LIMIT = "Time limit exceeded"
    """More CPU time than allowed, or idle past the wall limit."""

    MEMORY_LIMIT = "Memory limit exceeded"
    """The kernel had to kill for memory in the run's group."""

    OUTPUT_LIMIT = "Output limit exceeded"
    """More bytes on stdout, stderr and in files together than allowed."""

    RUNTIME_ERROR = "Runtime error"
    """The run ended by a signal or with another exit code than 0."""

    COMPILATION_ERROR = "Compilation error"
    """No program came out of the source; nothing was run."""

    POLICY_VIOLATION = "PolicyViolation"
    """The participant chose a language this assignment excludes (seed 000): nothing was run."""


SKIPPED = "Skipped"
"""Status of a test that was not run because an earlier one of its group had failed."""
