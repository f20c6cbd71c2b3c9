"""What comes from the server and from disk, whatever it is."""

import base64
import contextlib

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.agent import documents
from runners.agent.answers import Answer, LeaseLost, NotEnrolled, Refused, Revoked, Unreachable, read, retry_after_s
from runners.agent.errors import AgentError, InfrastructureFailure, Invalid, Unavailable
from runners.agent.identity import load_identity
from runners.agent.job import Claim, granted_s
from runners.agent.printable import first_line, printable
from runners.agent.work import judged

JSON = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.none() | st.just({})) | st.just({"name": "source"})
MEMBERS = ["jobId", "leaseToken", "files", "props", "config", "packageFileId", "packageSha256", "attempt"]


def answer(status, code="x"):
    return Answer(status, b'{"code": "%s", "detail": "why"}' % code.encode())


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        (answer(403, "runner.lease.stale"), LeaseLost),
        (answer(403, "runner.lease.foreign"), LeaseLost),
        (answer(409, "job.state"), LeaseLost),
        (answer(404, "not_found"), LeaseLost),
        (answer(403, "runner.notApproved"), NotEnrolled),
        (answer(409, "runner.revoked"), Revoked),
        (answer(422, "result.verdict.missing"), Refused),
        (answer(401, "unauthenticated"), Unreachable),
        (answer(429, "rate.limited"), Unreachable),
        (answer(503, "server.maintenance"), Unreachable),
        (Answer(404, b"<html>"), LeaseLost),
        (Answer(403, b"<html>"), Unreachable),
        (Answer(302, b""), Unreachable),
        (Answer(200, b"[1]"), Unreachable),
        (Answer(200, b"[" * 100_000), Unreachable),
        (Answer(200, b"\xff\xfe"), Unreachable),
    ],
)
def test_every_answer_has_one_meaning(said, meaning):
    with pytest.raises(AgentError) as caught:
        read(said, about_job=True)
    assert type(caught.value) is meaning


def test_a_404_is_only_a_lost_lease_where_a_job_is_named():
    with pytest.raises(Refused) as caught:
        read(answer(404, "not_found"))
    assert type(caught.value) is Refused


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("30", 30), ("0", 0), ("99999999", 3600), ("soon", None), ("-3", None), ("1.5", None), (None, None), ("\u0663", None)],
)
def test_retry_after_is_whole_seconds_or_nothing(said, seconds):
    assert retry_after_s(said) == seconds


@given(st.dictionaries(st.sampled_from(MEMBERS), JSON))
@settings(max_examples=60)
def test_a_claimed_job_of_any_shape_is_read_or_refused(document):
    document = {"jobId": "j", "leaseToken": "t"} | document
    try:
        claim = Claim.read(document, granted_s=600)
    except Unreachable:
        return
    for name in ("problem_type", "language", "package", "source", "beside", "attempt", "submission_id"):
        with contextlib.suppress(InfrastructureFailure):
            getattr(claim, name)


def test_a_job_without_props_is_incomplete_and_never_a_guess():
    with pytest.raises(InfrastructureFailure, match="no language"):
        _ = Claim.read({"jobId": "j", "leaseToken": "t"}, granted_s=1).language


def test_a_job_without_a_package_is_nobodys_fault_but_the_packages():
    claim = Claim.read({"jobId": "j", "leaseToken": "t", "packageFileId": "", "packageSha256": ""}, granted_s=1)
    with pytest.raises(InfrastructureFailure, match="no package"):
        _ = claim.package


@pytest.mark.parametrize("job", ["../../admin", "a/b", "", "a?b", "x" * 101])
def test_an_id_that_is_no_path_segment_is_never_put_into_a_path(job):
    with pytest.raises(Unreachable):
        Claim.read({"jobId": job, "leaseToken": "t"}, granted_s=1)


@pytest.mark.parametrize(
    ("until", "date", "seconds"),
    [
        ("2026-11-30T08:15:30.000000Z", "Mon, 30 Nov 2026 08:14:30 GMT", 60),
        ("2026-11-30T08:25:30.000000Z", "Mon, 30 Nov 2026 08:15:30 GMT", 600),
        ("2026-11-30T09:15:30.000000Z", "Mon, 30 Nov 2026 08:15:30 GMT", 600),
        ("2026-11-30T08:15:30.000000Z", None, 600),
        ("2026-11-30T08:15:30.000000Z", "Mon, 30 Nov 2026 09:15:30 GMT", 600),
        ("whenever", "Mon, 30 Nov 2026 08:15:30 GMT", 600),
        (None, "never", 600),
    ],
)
def test_the_length_of_a_lease_comes_from_the_servers_clock_alone(until, date, seconds):
    assert granted_s(600, {"leaseExpiresAt": until}, date) == seconds


@pytest.mark.parametrize(("asked", "clamped"), [(1, 60), (60, 60), (3600, 3600), (9999, 3600)])
def test_an_odd_lease_is_expected_to_be_clamped(asked, clamped):
    assert granted_s(asked, {}, None) == clamped


def test_an_identity_is_made_once_and_kept_secret(tmp_path):
    made, again = load_identity(tmp_path / "key"), load_identity(tmp_path / "key")

    assert made.fingerprint == again.fingerprint
    assert len((tmp_path / "key").read_bytes()) == 32
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["key"]
    Ed25519PublicKey.from_public_bytes(base64.b64decode(made.public_key)).verify(base64.b64decode(made.sign("nonce")), b"nonce")


def test_a_key_others_can_read_or_a_damaged_one_is_refused(tmp_path):
    load_identity(tmp_path / "key")
    (tmp_path / "key").chmod(0o644)
    with pytest.raises(Unavailable, match="read by others"):
        load_identity(tmp_path / "key")
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "key").write_bytes(b"short")
    with pytest.raises(Unavailable, match="32 bytes"):
        load_identity(tmp_path / "key")


@given(st.binary() | st.text())
def test_any_bytes_become_text_a_database_takes(raw):
    text = printable(raw, 50)
    assert len(text) <= 50
    assert "\0" not in text
    text.encode()


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b"", ""),
        (b"\n\n  \nwrong at 3\nmore", "wrong at 3"),
        (b"\xff\0x", "\ufffd\ufffdx"),
        (b"x" * 1000, "x" * 194 + "\n[cut]"),
    ],
)
def test_the_first_line_that_says_something_is_the_reason(raw, line):
    assert first_line(raw) == line


def test_props_stay_small_whatever_the_compiler_says(tmp_path):
    import json

    from runners.agent.judgement import Judgement, RunLimits
    from runners.agent.verdicts import Verdict

    limits = RunLimits(1, 1 << 20)
    judgement = Judgement("standard-io@1", Verdict.COMPILATION_ERROR, 1, limits, compiled=False, compiler_log="\x1b\U0001f600" * 40_000)
    claim = Claim.read({"jobId": "j", "leaseToken": "t", "props": {"language": "cpp"}}, granted_s=1)

    report = judged(claim, judgement, (), isolated=True).report

    assert len(json.dumps(report["props"], ensure_ascii=True)) < 262144
    assert "extra" not in report
    assert judged(claim, judgement, (), isolated=False).report["extra"] == {"isolated": False}


@pytest.mark.parametrize("name", ["", "../a.py", "/etc/passwd", "a/../../b", "a\x00b", "x" * 256])
def test_a_file_beside_the_source_whose_name_leads_out_is_refused(name):
    file = {"name": "beside-1", "fileName": name, "fileId": "f", "sha256": "0" * 64}
    claim = Claim.read({"jobId": "j", "leaseToken": "t", "files": [file]}, granted_s=1)

    with pytest.raises(InfrastructureFailure, match="the job's file"):
        _ = claim.beside


def test_files_that_are_neither_the_source_nor_beside_it_are_left_where_they_are():
    file = {"name": "essay", "fileName": "essay.txt", "fileId": "f", "sha256": "0" * 64}

    assert Claim.read({"jobId": "j", "leaseToken": "t", "files": [file]}, granted_s=1).beside == ()


@pytest.mark.parametrize(
    "text",
    [
        *("!!int ''", "!!int _", "!!float ''", "!!bool x", "!!timestamp x", "!!timestamp '2001-99-99'", "!!binary x", "!!map [1]"),
        *("!!float '" + "1:" * 2000 + "1'", "a: " + "9" * 5000, "? [1]\n: 2", "<<: 3", "[" * 5000, "a: 1\na: 2", "'': 1\n'': 2", "\0"),
    ],
    ids=lambda text: text[:20],
)
def test_a_document_that_is_not_understood_is_refused_by_its_name_whatever_its_reader_falls_over(text):
    with pytest.raises(Invalid, match="a\\.yaml: not readable YAML"):
        documents.parse_yaml(text.encode(), "a.yaml")


def test_keys_without_number_are_looked_through_once(monkeypatch):
    looked = []

    class Key(str):
        __slots__ = ()

        def __eq__(self, other):
            looked.append(1)
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    construct = yaml.nodes.ScalarNode.__init__

    def scalar(self, tag, value, *more, **named):
        construct(self, tag, Key(value), *more, **named)

    monkeypatch.setattr(yaml.nodes.ScalarNode, "__init__", scalar)
    documents.parse_yaml("\n".join(f"key{number}: " for number in range(500)).encode(), "a.yaml")

    assert len(looked) < 5000
