"""What a refusal is, and every refusal about runners: stable code, status, sentence (runner-protocol §2).

Refusals are raised in the core and translated once at each door. A subclass's docstring is its default sentence.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import ClassVar


class Refusal(Exception):
    """The request was refused."""

    code: ClassVar[str] = "refused"
    status: ClassVar[HTTPStatus] = HTTPStatus.CONFLICT
    retry_after: ClassVar[int | None] = None

    def __init__(self, detail: str = "", *, errors: dict[str, list[str]] | None = None) -> None:
        self.detail = detail or (type(self).__doc__ or "").strip()
        self.errors = errors or {}
        super().__init__(self.detail)


class Unauthenticated(Refusal):
    """No valid credentials came with this call."""

    code = "unauthenticated"
    status = HTTPStatus.UNAUTHORIZED


class NotFound(Refusal):
    """There is nothing here under that name."""

    code = "not_found"
    status = HTTPStatus.NOT_FOUND


class MalformedRequest(Refusal):
    """A member is missing or of the wrong type."""

    code = "malformed_request"
    status = HTTPStatus.BAD_REQUEST


class Unprocessable(Refusal):
    """The request is well formed and cannot be followed."""

    code = "unprocessable"
    status = HTTPStatus.UNPROCESSABLE_ENTITY


class RunnerNotApproved(Refusal):
    """This runner's key is not approved: it waits for an operator, or was revoked."""

    code = "runner.notApproved"
    status = HTTPStatus.FORBIDDEN


class KeyMalformed(Unprocessable):
    """The public key is not base64."""

    code = "runner.key.malformed"


class KeyLength(Unprocessable):
    """The public key is not 32 bytes long."""

    code = "runner.key.length"


class RunnerRevoked(Refusal):
    """This key was revoked, and that is for ever."""

    code = "runner.revoked"


class RunnerNotRevoked(Refusal):
    """Only a revoked runner can be forgotten."""

    code = "runner.notRevoked"


class TagsCount(Unprocessable):
    """There are too many tags."""

    code = "runner.tags.count"


class TagsLength(Unprocessable):
    """A tag is too long."""

    code = "runner.tags.length"


class NonceUnknown(Refusal):
    """This nonce was never issued, or was spent."""

    code = "runner.nonce.unknown"
    status = HTTPStatus.FORBIDDEN


class NonceExpired(Refusal):
    """This nonce has expired; ask for another challenge."""

    code = "runner.nonce.expired"
    status = HTTPStatus.FORBIDDEN


class NonceMismatch(Refusal):
    """This nonce was issued to another key."""

    code = "runner.nonce.mismatch"
    status = HTTPStatus.FORBIDDEN


class SignatureWrong(Refusal):
    """The signature is not this key's over this nonce."""

    code = "runner.signature"
    status = HTTPStatus.FORBIDDEN
