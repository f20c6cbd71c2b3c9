"""Registration, challenge, token, and the bearer on every call (runner-protocol §1 and §3)."""

import base64
import os

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from judging import queue
from runners.models import Runner
from tests import factories
from tests.protocol.conftest import Api, refused

REGISTER = "runner/register"
CHALLENGE = "runner/auth/challenge"
TOKEN = "runner/auth/token"


def introduction(key=None, **more):
    raw = (key or Ed25519PrivateKey.generate()).public_key().public_bytes_raw()
    return {"name": "box", "publicKey": base64.b64encode(raw).decode(), "problemTypes": ["standard-io@1"], **more}


def signed(key, nonce: str) -> str:
    return base64.b64encode(key.sign(nonce.encode())).decode()


def nonce_for(api: Api, fingerprint: str) -> str:
    return api.post(CHALLENGE, {"fingerprint": fingerprint}).json()["nonce"]


def test_a_new_key_waits_for_approval(nobody):
    answer = nobody.post(REGISTER, introduction(tags=[" GPU ", "gpu", "Hall-1"]))

    row = Runner.objects.get()
    assert answer.status_code == 200
    assert answer.json() == {"runnerId": str(row.id), "fingerprint": row.fingerprint, "state": "pendingApproval"}
    assert row.tags == ["gpu", "hall-1"]


def test_a_known_key_that_signs_is_refreshed_and_keeps_state_and_tags(nobody):
    box = factories.box(tags=("hall-1",))
    nonce = nonce_for(nobody, box.fingerprint)

    again = introduction(
        box.key,
        name="renamed",
        version="2",
        tags=["other"],
        nonce=nonce,
        signature=box.sign(nonce),
        machine={"cpus": 8},
    )
    answer = nobody.post(REGISTER, again)

    assert answer.json() == {"runnerId": str(box.id), "fingerprint": box.fingerprint, "state": "approved"}
    row = Runner.objects.get()
    assert (row.name, row.version, row.tags, row.machine) == ("renamed", "2", ["hall-1"], '{"cpus":8}')


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"publicKey": "no base64!"}, 422, "runner.key.malformed"),
        ({"publicKey": "\x00\ud800"}, 422, "runner.key.malformed"),
        ({"publicKey": base64.b64encode(b"x" * 31).decode()}, 422, "runner.key.length"),
        ({"tags": [f"t{n}" for n in range(17)]}, 422, "runner.tags.count"),
        ({"tags": ["t" * 65]}, 422, "runner.tags.length"),
        ({"machine": {"a": "x" * 16_384}}, 422, "opaque.tooLarge"),
        ({"machine": []}, 422, "opaque.notAnObject"),
        ({"name": "x" * 129}, 400, "malformed_request"),
        ({"name": " "}, 400, "malformed_request"),
        ({"product": "x" * 129}, 400, "malformed_request"),
        ({"version": "x" * 65}, 400, "malformed_request"),
        ({"problemTypes": None}, 400, "malformed_request"),
        ({"problemTypes": [1]}, 400, "malformed_request"),
        ({"problemTypes": "standard-io@1"}, 400, "malformed_request"),
        ({"problemTypes": ["x" * 129]}, 400, "malformed_request"),
        ({"external": "yes"}, 400, "malformed_request"),
        ({"tags": ["ok", 5]}, 400, "malformed_request"),
    ],
)
def test_a_registration_that_is_not_as_it_should_be(nobody, change, status, code):
    refused(nobody.post(REGISTER, introduction() | change), status, code)

    assert not Runner.objects.exists()


def test_every_wrong_member_is_named(nobody):
    problem = refused(nobody.post(REGISTER, {"name": 5, "external": 1}), 400, "malformed_request")

    assert problem["errors"].keys() == {"name", "external", "publicKey", "problemTypes"}


def test_text_the_database_cannot_hold_is_mended(nobody):
    answer = nobody.post(REGISTER, introduction(name="a\x00b\ud800", tags=["t\x00"], machine={"\ud800": "\x00"}))

    assert answer.status_code == 200
    row = Runner.objects.get()
    assert (row.name, row.tags, row.machine) == ("a\ufffdb\ufffd", ["t\ufffd"], r'{"\ud800":"\u0000"}')


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({}, "runner.nonce.unknown"),
        ({"nonce": "never issued"}, "runner.nonce.unknown"),
        ({"nonce": "\ud800\x00"}, "runner.nonce.unknown"),
        ({"signature": "no base64!"}, "runner.signature"),
        ({"signature": base64.b64encode(b"x" * 64).decode()}, "runner.signature"),
    ],
)
def test_a_known_key_must_prove_itself(nobody, change, code):
    box = factories.pending_box()
    sent = introduction(box.key, name="thief") | change
    if "signature" in change:
        sent["nonce"] = nonce_for(nobody, box.fingerprint)

    refused(nobody.post(REGISTER, sent), 403, code)

    assert Runner.objects.get().name == box.runner.name


def test_a_revoked_key_is_told_so_before_anything_else(nobody):
    box = factories.box()
    queue.revoke(box.id, by="user:1", reason="stolen")

    refused(nobody.post(REGISTER, introduction(box.key)), 409, "runner.revoked")


@pytest.mark.parametrize("fingerprint", ["0" * 64, "", "\x00", "\ud800", "x" * 100_000])
def test_a_challenge_for_an_unknown_key_is_404(nobody, fingerprint):
    refused(nobody.post(CHALLENGE, {"fingerprint": fingerprint}), 404, "not_found")


@pytest.mark.parametrize("state", ["pending", "approved", "revoked"])
def test_a_challenge_is_for_every_known_key(nobody, state):
    box = factories.pending_box() if state == "pending" else factories.box()
    if state == "revoked":
        queue.revoke(box.id, by="user:1", reason="stolen")

    answer = nobody.post(CHALLENGE, {"fingerprint": box.fingerprint})

    assert answer.status_code == 200
    assert len(base64.b64decode(answer.json()["nonce"])) == 32


def test_a_signed_nonce_buys_a_token_that_opens_the_surface(nobody):
    box = factories.box()
    nonce = nonce_for(nobody, box.fingerprint)

    answer = nobody.post(TOKEN, {"fingerprint": box.fingerprint, "nonce": nonce, "signature": box.sign(nonce)})

    token = answer.json()["token"]
    assert nobody.post("runner/heartbeat", Authorization=f"Bearer {token}").status_code == 204


def test_a_nonce_is_spent_whatever_comes_of_it(nobody):
    box = factories.box()
    nonce = nonce_for(nobody, box.fingerprint)
    wrong = {"fingerprint": box.fingerprint, "nonce": nonce, "signature": "AAAA"}

    refused(nobody.post(TOKEN, wrong), 403, "runner.signature")
    refused(nobody.post(TOKEN, wrong | {"signature": box.sign(nonce)}), 403, "runner.nonce.unknown")


def test_a_nonce_is_bound_to_its_key(nobody):
    box, other = factories.box(), factories.box()
    nonce = nonce_for(nobody, other.fingerprint)

    refused(
        nobody.post(TOKEN, {"fingerprint": box.fingerprint, "nonce": nonce, "signature": box.sign(nonce)}),
        403,
        "runner.nonce.mismatch",
    )


@pytest.mark.parametrize(("seconds", "status"), [(119, 200), (121, 403)])
def test_a_nonce_lives_two_minutes(nobody, clock, seconds, status):
    box = factories.box()
    nonce = nonce_for(nobody, box.fingerprint)
    clock.forward(seconds=seconds)

    answer = nobody.post(TOKEN, {"fingerprint": box.fingerprint, "nonce": nonce, "signature": box.sign(nonce)})

    assert answer.status_code == status
    if status == 403:
        refused(answer, 403, "runner.nonce.expired")


def test_a_pending_key_gets_no_token_even_with_a_wrong_signature(nobody):
    box = factories.pending_box()
    nonce = nonce_for(nobody, box.fingerprint)

    refused(
        nobody.post(TOKEN, {"fingerprint": box.fingerprint, "nonce": nonce, "signature": "AAAA"}),
        403,
        "runner.notApproved",
    )


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic dTpw", "Bearer nonsense", "Bearer \xff\xfe", "Bearer " + "x" * 10_000])
def test_a_call_without_a_live_token_is_unauthenticated(nobody, header):
    answer = nobody.post("runner/heartbeat", Authorization=header)

    refused(answer, 401, "unauthenticated")
    assert answer["WWW-Authenticate"] == "Bearer"


def test_the_scheme_may_be_written_in_any_case(nobody, box):
    assert nobody.post("runner/heartbeat", Authorization=f"bEaReR   {box.token}").status_code == 204


@pytest.mark.parametrize(("hours", "status"), [(11.9, 204), (12.1, 401)])
def test_a_token_lives_twelve_hours(api, clock, hours, status):
    clock.forward(hours=hours)

    assert api.post("runner/heartbeat").status_code == status


def test_a_revoked_runner_hears_it_on_its_next_call(api, box):
    queue.revoke(box.id, by="user:1", reason="stolen")

    refused(api.post("runner/heartbeat"), 403, "runner.notApproved")


def test_a_forgotten_runner_is_nobody(api, box):
    queue.revoke(box.id, by="user:1", reason="stolen")
    queue.forget(box.id)

    refused(api.post("runner/heartbeat"), 401, "unauthenticated")


def test_a_login_opens_nothing_here(nobody, admin_client):
    nobody.client = admin_client

    refused(nobody.post("runner/heartbeat"), 401, "unauthenticated")


def test_a_call_sets_no_cookie_and_is_not_asked_for_a_csrf_token(box):
    api = Api(box)
    api.client.handler.enforce_csrf_checks = True

    answer = api.post("runner/heartbeat", Cookie="sessionid=x; csrftoken=y", Origin="https://elsewhere.example")

    assert answer.status_code == 204
    assert not answer.cookies
    assert "Content-Type" not in answer


@pytest.mark.parametrize(
    ("proxies", "forwarded", "noted"),
    [
        (0, "203.0.113.9", "127.0.0.1"),
        (1, "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        (2, "198.51.100.1, 203.0.113.9", "198.51.100.1"),
        (3, "203.0.113.9", "203.0.113.9"),
        (1, "fe80::1%eth0", "fe80::1"),
        (1, "nonsense\x00", None),
        (1, "", "127.0.0.1"),
    ],
)
def test_the_address_is_the_connections(nobody, settings, proxies, forwarded, noted):
    settings.PROXIES = proxies

    nobody.post(REGISTER, introduction(), X_Forwarded_For=forwarded)

    assert Runner.objects.get().address == noted


def test_the_last_sign_of_life_is_written_at_most_every_thirty_seconds(api, box, clock):
    seen = []
    for _ in range(3):
        api.post("runner/heartbeat")
        seen.append(str(Runner.objects.get(id=box.id).last_seen_at))
        clock.forward(seconds=16)

    assert seen[0] == seen[1] < seen[2]


def test_too_many_handshakes_from_one_address_are_slowed_down(nobody, settings, monkeypatch):
    from django.core.cache import cache

    from judging.protocol.identity import ByAddress

    cache.clear()
    monkeypatch.setattr(ByAddress, "THROTTLE_RATES", {"challenge": "2/min"})
    spent = [nobody.post(CHALLENGE, {"fingerprint": os.urandom(32).hex()}).status_code for _ in range(2)]

    answer = nobody.post(CHALLENGE, {"fingerprint": "0" * 64})

    cache.clear()
    assert spent == [404, 404]
    refused(answer, 429, "rate.limited")
    assert answer["Retry-After"] == "30"
