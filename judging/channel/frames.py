"""PURE: what is said on the channel, both ways (channel-protocol §2).

One text frame is one JSON object whose `event` names its kind. Unknown members are ignored; null for an optional
member reads as absent.
"""

from __future__ import annotations

import re
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

DEFAULT_POLL_SECONDS = 30
PollSeconds = Annotated[int, Meta(ge=1, le=900)]
ExitCode = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]


class Machine(Struct, frozen=True):
    """What a runner says of itself. `channel` is the stream of releases it follows, `checksum` its own program's."""

    os: str
    arch: str
    version: str
    channel: str | None = None
    checksum: str | None = None


class Iteration(Struct, frozen=True, omit_defaults=True):
    """One run of a program; `output` holds the collected files by path."""

    exit_code: ExitCode
    stdout: str | None = None
    stderr: str | None = None
    output: dict[str, str] | None = None


class Ready(Struct, frozen=True, tag_field="event", tag="ready"):
    """The runner is idle and asks for a job."""

    poll_timeout: PollSeconds | None = None
    runner: Machine | None = None

    @property
    def wait_seconds(self) -> int:
        """How long it would wait."""
        return self.poll_timeout or DEFAULT_POLL_SECONDS


class Running(Struct, frozen=True, tag_field="event", tag="running"):
    """The run itself begins."""


class Heartbeat(Struct, frozen=True, tag_field="event", tag="heartbeat"):
    """The run goes on."""


class Completed(Struct, frozen=True, tag_field="event", tag="completed"):
    """The run is complete."""

    job: UUID
    results: list[Iteration]


class Failed(Struct, frozen=True, tag_field="event", tag="failed"):
    """The run failed."""

    job: UUID
    results: list[Iteration]
    error: str


class Canceled(Struct, frozen=True, tag_field="event", tag="canceled"):
    """The run was stopped."""

    job: UUID


Live = Running | Heartbeat
Terminal = Completed | Failed | Canceled
Said = Ready | Live | Terminal
_said: msgspec.json.Decoder[Said] = msgspec.json.Decoder(Said)


class Output(Struct, frozen=True, omit_defaults=True):
    """The document that is kept of a run (seed 001); `error` when it failed."""

    results: list[Iteration]
    error: str | None = None


class Ack(Struct, frozen=True, tag_field="event", tag="ack", omit_defaults=True):
    """What was said has been understood, and kept where it had to be."""

    job: UUID | None = None


class NoJob(Struct, frozen=True, tag_field="event", tag="no_job"):
    """There was none for as long as the runner would wait."""


class Cancel(Struct, frozen=True, tag_field="event", tag="cancel"):
    """Stop: the job is not yours any more."""


class Update(Struct, frozen=True, tag_field="event", tag="update"):
    """Another release of the runner's program is to be used; `checksum` is its SHA-256 in hex."""

    version: str
    url: str
    checksum: str


class Spec(Struct, frozen=True, omit_defaults=True):
    """The declared hardware of the pool a job was matched in; memory and disk in bytes."""

    uuid: UUID
    name: str
    slug: str
    os: str
    architecture: str
    sandbox: str
    cpu: int
    memory: int
    disk: int
    network: bool
    created: str
    modified: str
    fallback: str | None = None
    archived: str | None = None


class Config(Struct, frozen=True):
    """Where the package is pulled, and for how many seconds it may run."""

    registry: str
    project: UUID
    digest: str
    timeout: int


class Job(Struct, frozen=True, tag_field="event", tag="job"):
    """A job was handed out. `claim` is the claimed-job document of the REST protocol."""

    uuid: UUID
    timeout: int
    created: str
    spec: Spec
    config: Config
    oci_token: str
    claim: Raw | UnsetType = UNSET


Told = Ack | NoJob | Cancel | Update | Job


# An escaped half of a character; a pair of halves that makes a whole one is told by its second group. Runs of backslashes
# are walked once, from their beginning, because an escape begins after an even number of them.
_HALF = re.compile(r"\\(?<!\\\\)((?:\\\\)*+)u(?:d[89ab][0-9a-f]{2}\\u(d[c-f][0-9a-f]{2})|d[89a-f][0-9a-f]{2})", re.IGNORECASE)


def read(text: str) -> Said | None:
    """What a frame says; None when it is bad: no JSON, an unknown event, a member missing or ill-typed."""
    try:
        return _said.decode(text)
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return _repaired(text)


def _repaired(text: str) -> Said | None:
    """A run must not be lost to half a character in its output, which msgspec refuses: such halves are replaced.

    In the text, not by a parser that takes them: what else is malformed would keep that one busy for seconds.
    """
    mended = _HALF.sub(lambda found: found[0] if found[2] else f"{found[1]}\\ufffd", text)
    if mended == text:
        return None
    try:
        return _said.decode(mended)
    except (msgspec.DecodeError, RecursionError):
        return None


def write(told: Told) -> str:
    """A frame to send."""
    return msgspec.json.encode(told).decode()


def document(results: list[Iteration], error: str | None = None) -> bytes:
    """The output document of a run."""
    return msgspec.json.encode(Output(results, error))
