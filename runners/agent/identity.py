"""Who this runner is: an Ed25519 key that never leaves its file (runner-protocol §3)."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from runners.agent.errors import Unavailable

SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Identity:
    """The key pair of one runner."""

    secret: Ed25519PrivateKey

    @property
    def public_key(self) -> str:
        """Base64 of the raw 32 bytes."""
        return base64.b64encode(self.secret.public_key().public_bytes_raw()).decode()

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.secret.public_key().public_bytes_raw()).hexdigest()

    def sign(self, nonce: str) -> str:
        """Base64 of the signature over the UTF-8 bytes of the nonce's text."""
        return base64.b64encode(self.secret.sign(nonce.encode())).decode()


def load_identity(path: Path) -> Identity:
    """The identity in a file of 32 raw bytes, made on the first start.

    Raises Unavailable when the file is not that, or is readable by others: a runner never changes its key quietly.
    """
    if not path.exists():
        _make(path)
    if path.stat().st_mode & 0o077:
        raise Unavailable(f"{path} can be read by others", f"chmod 600 {path}")
    raw = path.read_bytes()
    if len(raw) != SECRET_BYTES:
        raise Unavailable(f"{path} does not hold a key of {SECRET_BYTES} bytes", "restore it, or remove it to become a new runner")
    return Identity(Ed25519PrivateKey.from_private_bytes(raw))


def _make(path: Path) -> None:
    """Whole or not at all, and never over another's: a hard link refuses an existing name."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    # Of one that was killed here; in a container each has the same number.
    draft.unlink(missing_ok=True)
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(os.urandom(SECRET_BYTES))
        file.flush()
        os.fsync(file.fileno())
    with contextlib.suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()
