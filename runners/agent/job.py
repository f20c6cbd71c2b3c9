"""A claimed job, read with care: what it holds was written by strangers, and may be anything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from runners.agent.answers import Unreachable
from runners.agent.archive import name_fault
from runners.agent.errors import InfrastructureFailure

MIN_LEASE_S, MAX_LEASE_S = 60, 3600
SEGMENT = re.compile(r"[0-9A-Za-z_-]{1,100}")
BESIDE = "beside-"
"""How the roles of a submission's further files begin. Participants send one file; the jury's own may have more."""

MOST_BESIDE = 100
SHA256 = re.compile(r"[0-9a-fA-F]{64}")


@dataclass(frozen=True, slots=True)
class File:
    """One of the job's files."""

    role: str
    file_name: str
    file_id: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A job this runner holds. The rest of the document is read when it is judged, where a fault can be reported."""

    job_id: str
    lease_token: str
    granted_s: float
    """How long the lease was when the answer came."""

    document: Mapping[str, Any]

    @classmethod
    def read(cls, document: Mapping[str, Any], *, granted_s: float) -> Claim:
        """Raises Unreachable without an id and a token: then nothing can be said about the job to anybody."""
        job_id, token = document.get("jobId"), document.get("leaseToken")
        if not isinstance(job_id, str) or not isinstance(token, str) or not SEGMENT.fullmatch(job_id) or not token.isascii():
            raise Unreachable("a claimed job without an id and a lease token")
        return cls(job_id, token, granted_s, document)

    @property
    def problem_type(self) -> str:
        return str(self.document.get("problemType", ""))

    @property
    def submission_id(self) -> str:
        return str(self.document.get("submissionId", ""))

    @property
    def attempt(self) -> int:
        said = self.document.get("attempt", 0)
        return said if isinstance(said, int) else 0

    def opaque(self, name: str) -> Mapping[str, Any]:
        """`props` or `config`; empty when absent. Raises InfrastructureFailure when it is no object."""
        value = self.document.get(name, {})
        if not isinstance(value, Mapping):
            raise InfrastructureFailure(f"the job's {name} is no object")
        return value

    @property
    def language(self) -> str:
        """Seed 000: a job without a language is incomplete, never a guess."""
        language = self.opaque("props").get("language")
        if not isinstance(language, str) or not language:
            raise InfrastructureFailure("the job's props name no language")
        return language

    @property
    def package(self) -> File:
        file_id, sha256 = self.document.get("packageFileId"), self.document.get("packageSha256")
        if not file_id or not isinstance(file_id, str):
            raise InfrastructureFailure("the problem version has no package")
        return _file("package", "", file_id, sha256)

    @property
    def source(self) -> File:
        files = self.document.get("files")
        for item in files if isinstance(files, list) else []:
            if isinstance(item, Mapping) and item.get("name") == "source":
                return _file("source", item.get("fileName"), item.get("fileId"), item.get("sha256"))
        raise InfrastructureFailure("the job has no source")

    @property
    def beside(self) -> tuple[File, ...]:
        """The files that lie beside the source; their names may hold folders. Raises InfrastructureFailure for a name that leads out."""
        files = self.document.get("files")
        listed = [item for item in files if isinstance(item, Mapping)] if isinstance(files, list) else []
        found = [item for item in listed if str(item.get("name")).startswith(BESIDE)]
        if len(found) > MOST_BESIDE:
            raise InfrastructureFailure(f"the job has more than {MOST_BESIDE} files beside its source")
        made = tuple(_file(str(item["name"])[:50], item.get("fileName"), item.get("fileId"), item.get("sha256")) for item in found)
        for file in made:
            if fault := name_fault(file.file_name):
                raise InfrastructureFailure(f"the job's file {file.file_name[:200]!r}: {fault}")
        return made


def _file(role: str, name: Any, file_id: Any, sha256: Any) -> File:
    if not isinstance(file_id, str) or not SEGMENT.fullmatch(file_id) or not isinstance(sha256, str) or not SHA256.fullmatch(sha256):
        raise InfrastructureFailure(f"the job's {role} has no id or no checksum")
    return File(role, name if isinstance(name, str) else "", file_id, sha256)


def granted_s(asked_s: float, document: Mapping[str, Any], date: str | None) -> float:
    """How long a lease is from now on: what was asked, or less if the server says so by its own two clocks.

    The local clock has no part in it. Without a readable pair of instants the asked, clamped as every server clamps it, stands.
    """
    asked_s = min(max(asked_s, MIN_LEASE_S), MAX_LEASE_S)
    try:
        until = datetime.fromisoformat(str(document.get("leaseExpiresAt")).replace("Z", "+00:00"))
        answered = parsedate_to_datetime(date or "")
        said = (until - answered.replace(tzinfo=answered.tzinfo or UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return asked_s
    return min(asked_s, said) if said > 0 else asked_s
