"""PURE: fingerprints, signatures and the ids everything here is called by."""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from uuid import UUID

import uuid_utils
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

KEY_BYTES = 32


def new_id() -> UUID:
    """A UUIDv7, so that ids sort by creation (runner-protocol §1)."""
    return UUID(bytes=uuid_utils.uuid7().bytes)


def fingerprint(public_key: bytes) -> str:
    """The identity of a runner: lowercase hex SHA-256 of the 32 raw key bytes (runner-protocol §3)."""
    return hashlib.sha256(public_key).hexdigest()


def new_secret() -> str:
    """32 random bytes as base64 text: a nonce or a bearer token."""
    return base64.b64encode(secrets.token_bytes(32)).decode()


def digest(secret: str) -> bytes:
    """What is stored of a secret: SHA-256 of its UTF-8 bytes (lone surrogates kept apart, never an error)."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def decode_base64(text: str) -> bytes | None:
    """The bytes of strict base64 text, or None when it is not base64."""
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error):
        return None


def signed(public_key: bytes, nonce: str, signature: str) -> bool:
    """Whether `signature` (base64 Ed25519) is this key's over the UTF-8 bytes of the nonce text."""
    raw = decode_base64(signature)
    if raw is None:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(raw, nonce.encode("utf-8", "surrogatepass"))
    except (InvalidSignature, ValueError):
        return False
    return True
