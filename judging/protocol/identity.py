"""How a machine becomes a runner: registration, challenge, handshake (runner-protocol §3)."""

from __future__ import annotations

import re
from dataclasses import replace

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.throttling import ScopedRateThrottle

from judging.errors import NotFound
from judging.models import Maintenance
from judging.protocol import serializers
from judging.protocol.authentication import address_of
from judging.protocol.documents import Challenge, Registered, Token
from judging.protocol.reading import Reading
from judging.protocol.schema import OPEN, described
from judging.protocol.surface import Surface, document, reading
from judging.records import instant
from runners import enrol, handshake

NAME_LENGTH = 128
PRODUCT_LENGTH = 128
VERSION_LENGTH = 64
PROBLEM_TYPES = 256
PROBLEM_TYPE_LENGTH = 128
MACHINE_BYTES = 16 * 1024

_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


class ByAddress(ScopedRateThrottle):
    """So many calls a minute from one address: nobody is authenticated here yet."""

    def get_ident(self, request: Request) -> str:
        """The connection's address, or what stands for a connection without one."""
        return address_of(request) or "nowhere"


class Registration(Surface):
    """A key introduces itself. Closed while the server drains: what it could do next is closed as well."""

    throttle_classes = [ByAddress]
    throttle_scope = "register"
    shut_at = frozenset({Maintenance.DRAINING, Maintenance.CLOSED})

    @described(
        "registerRunner",
        request=serializers.Registration,
        answers={200: serializers.Registered},
        problems=(*OPEN, 403, 409, 422),
    )
    def register(self, request: Request) -> HttpResponse:
        """Enrol a new key, which then waits for an operator, or refresh a known one that signs a challenge."""
        runner = enrol.register(_introduction(reading(request), address=address_of(request)))
        return document(Registered(runner_id=runner.id, fingerprint=runner.fingerprint, state=runner.state))


class Challenges(Surface):
    """Something to sign."""

    throttle_classes = [ByAddress]
    throttle_scope = "challenge"

    @described(
        "requestChallenge",
        request=serializers.Fingerprint,
        answers={200: serializers.Challenge},
        problems=(*OPEN, 404),
    )
    def challenge(self, request: Request) -> HttpResponse:
        """A nonce for a known key, whatever its state."""
        asked = reading(request)
        fingerprint = asked.sent_text("fingerprint")
        asked.finish()
        if not _FINGERPRINT.fullmatch(fingerprint):
            raise NotFound
        secret = handshake.challenge(fingerprint)
        return document(Challenge(nonce=secret.text, expires_at=instant(secret.expires_at)))


class Tokens(Surface):
    """The handshake."""

    throttle_classes = [ByAddress]
    throttle_scope = "token"

    @described(
        "obtainToken",
        request=serializers.SignedNonce,
        answers={200: serializers.Token},
        problems=(*OPEN, 403),
    )
    def token(self, request: Request) -> HttpResponse:
        """A bearer token for an approved key that signs its nonce."""
        asked = reading(request)
        fingerprint, nonce, signature = (asked.sent_text(name) for name in ("fingerprint", "nonce", "signature"))
        asked.finish()
        secret = handshake.token(fingerprint, nonce=nonce, signature=signature)
        return document(Token(token=secret.text, expires_at=instant(secret.expires_at)))


def _introduction(asked: Reading, *, address: str | None) -> enrol.Introduction:
    """What a registration says. Raises MalformedRequest, then OpaqueTooLarge and its like."""
    types = asked.texts("problemTypes", required=True)
    asked.refuse_unless(
        "problemTypes",
        holds=len(types) <= PROBLEM_TYPES and all(len(name) <= PROBLEM_TYPE_LENGTH for name in types),
        why=f"At most {PROBLEM_TYPES} types of at most {PROBLEM_TYPE_LENGTH} characters.",
    )
    said = enrol.Introduction(
        public_key=asked.sent_text("publicKey"),
        name=asked.text("name", least=1, most=NAME_LENGTH),
        product=asked.text("product", most=PRODUCT_LENGTH, default=""),
        version=asked.text("version", most=VERSION_LENGTH, default=""),
        problem_types=types,
        external=asked.flag("external"),
        tags=asked.texts("tags"),
        nonce=asked.sent_text("nonce", default="") or None,
        signature=asked.sent_text("signature", default="") or None,
        address=address,
    )
    asked.finish()
    return replace(said, machine=asked.opaque("machine", most_bytes=MACHINE_BYTES))
