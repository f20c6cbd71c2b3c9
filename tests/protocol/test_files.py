"""Files on the wire: upload, attach, download (runner-protocol §9)."""

import hashlib
from io import BytesIO
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from judging import files, queue
from judging.models import Attachment, RunnerAttachment, StoredFile
from tests import factories
from tests.protocol.conftest import refused

UPLOADS = "runner/files"
BOUNDARY = "multipart/form-data; boundary=x"
BASE64 = 'name="file"; filename="a"\r\nContent-Transfer-Encoding: base64'


def kept(storage) -> list[str]:
    """Every file in the storage, drafts included."""
    return sorted(path.name for path in storage.rglob("*") if path.is_file())


def multipart(*parts: tuple[str, bytes]) -> bytes:
    """A body of (headers after the disposition's `form-data; `, content) parts."""
    framed = (b"--x\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n" % (head.encode(), content) for head, content in parts)
    return b"".join(framed) + b"--x--\r\n"


@pytest.fixture
def job(api) -> dict:
    """A job the first box holds, with a package."""
    factories.submission(factories.work(package=factories.package(b"PK package")), source=factories.stored_file(b"print(1)\n"))
    return api.claim()


def test_an_upload_is_kept_and_described(api, box, storage):
    answer = api.upload(b"a log", name="log.txt")

    row = StoredFile.objects.get()
    sha256 = hashlib.sha256(b"a log").hexdigest()
    assert answer.status_code == 201
    assert answer["Location"] == f"/api/v1/runner/files/{row.id}"
    document = answer.json()
    assert document.pop("createdAt").endswith("Z")
    assert document == {
        "id": str(row.id),
        "name": "log.txt",
        "mimeType": "text/plain",
        "sizeBytes": 5,
        "sha256": sha256,
    }
    assert (row.uploaded_by, kept(storage)) == (box.id, [sha256])


@pytest.mark.parametrize("order", [1, -1])
def test_the_hash_may_come_before_or_after_the_file(api, order):
    sha256 = hashlib.sha256(b"a log").hexdigest()
    parts = [('name="file"; filename="log"', b"a log"), ('name="sha256"', sha256.upper().encode())]

    assert api.send("POST", UPLOADS, multipart(*parts[::order]), content_type=BOUNDARY).status_code == 201


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        ({"sha256": "0" * 64}, 422, "checksum_mismatch"),
        ({"sha256": "nonsense"}, 422, "checksum_mismatch"),
        ({"sha256": "g" * 64}, 422, "checksum_mismatch"),
        ({"sha256": "²" * 64}, 422, "checksum_mismatch"),
        ({"content": b""}, 422, "file.required"),
        ({"file": None}, 422, "file.required"),
        ({"file": "a field"}, 422, "file.required"),
        ({"other": SimpleUploadedFile("b", b"b")}, 422, "file.tooMany"),
        ({"file": None, "other": SimpleUploadedFile("b", b"b")}, 422, "file.required"),
        ({"file": [SimpleUploadedFile("a", b"a"), SimpleUploadedFile("b", b"b")]}, 422, "file.tooMany"),
    ],
)
def test_an_upload_that_is_not_as_it_should_be_leaves_nothing(api, storage, sent, status, code):
    refused(api.upload(**sent), status, code)

    assert not StoredFile.objects.exists()
    assert kept(storage) == []


@pytest.mark.parametrize(
    ("content_type", "body", "status", "code"),
    [
        ("application/json", b"{}", 422, "request.notMultipart"),
        ("", b"", 422, "request.notMultipart"),
        ("multipart/mixed; boundary=x", b"", 422, "request.notMultipart"),
        ("multipart/form-data", b"--x", 422, "request.malformed"),
        ("multipart/form-data; boundary=", b"--x", 422, "request.malformed"),
        ("multipart/form-data; boundary=\xff", b"--x", 422, "request.malformed"),
        ("multipart/form-data; boundary=" + "x" * 300, b"--x", 422, "request.malformed"),
        (BOUNDARY, b"--x--", 422, "file.required"),
        (BOUNDARY, b"garbage" * 1000, 422, "request.malformed"),
        (BOUNDARY, multipart(("name*=bogus''%ff; filename=a", b"a")), 422, "file.required"),
        (BOUNDARY, multipart((BASE64, b"!")), 422, "request.malformed"),
        (BOUNDARY, multipart((f'name="file"; filename="{"a" * 3000}"', b"a")), 422, "request.malformed"),
        (BOUNDARY, multipart(*[(f'name="f{n}"; filename="a"', b"a") for n in range(200)]), 422, "file.tooMany"),
        (BOUNDARY, multipart(*[(f'name="f{n}"', b"a") for n in range(2000)]), 422, "request.malformed"),
        (BOUNDARY, multipart(('name="sha256"', b"a" * 3_000_000)), 413, "payload_too_large"),
        (BOUNDARY, multipart(('name="file"; filename="a"', b"a")), 400, "malformed_request"),
    ],
)  # fmt: skip
def test_a_body_that_is_no_upload(api, content_type, body, status, code):
    refused(api.send("POST", UPLOADS, body, content_type=content_type), status, code)

    assert not StoredFile.objects.exists()


@pytest.mark.parametrize(("size", "status"), [(1000, 201), (1001, 413)])
def test_the_limit_is_enforced_while_the_bytes_come(api, settings, storage, size, status):
    from dataclasses import replace

    settings.LIMITS = replace(settings.LIMITS, upload_bytes=1000)

    assert api.upload(b"x" * size).status_code == status
    assert len(kept(storage)) == (status == 201)


class Unread(BytesIO):
    """A body that must not be touched."""

    def read(self, *_):
        raise AssertionError("the body was read")


def unread(api, length: int):
    """An upload whose body fails the test when it is read."""
    environ = {"wsgi.input": Unread(), "CONTENT_LENGTH": str(length)}
    headers = api.box.bearer if api.box else {}
    return api.client.generic("POST", "/api/v1/runner/files", b"x", content_type=BOUNDARY, headers=headers, **environ)


def test_a_body_that_declares_too_much_is_not_read(api):
    refused(unread(api, 200 * 1024 * 1024), 413, "payload_too_large")


def test_who_calls_is_settled_before_a_byte_is_read(nobody):
    refused(unread(nobody, 100), 401, "unauthenticated")


@pytest.mark.parametrize(
    ("sent", "name", "disposition"),
    [
        ("log.txt", "log.txt", 'attachment; filename="log.txt"'),
        ("решение.cpp", "решение.cpp", "attachment; filename*=utf-8''%D1%80%D0%B5%D1%88%D0%B5%D0%BD%D0%B8%D0%B5.cpp"),
        ("../../etc/passwd", "passwd", 'attachment; filename="passwd"'),
        ("a\\b.exe", "b.exe", 'attachment; filename="b.exe"'),
        ("x" * 300, "x" * 255, f'attachment; filename="{"x" * 255}"'),
    ],
)
def test_a_files_name_is_made_harmless(api, job, sent, name, disposition):
    up = api.upload(name=sent, mime_type="text/html").json()
    api.about(job, "files", fileId=up["id"], name="log")

    answer = api.get(f"runner/files/{up['id']}")

    assert up["name"] == name
    assert answer["Content-Disposition"] == disposition
    assert answer["Content-Type"] == "application/octet-stream"


@pytest.mark.parametrize("name", ['a"b;c', "a\r\nSet-Cookie: x=y", "\x00\x7f", "a\u2028b", "", " ", "\ud800", "..", "/", "🚀" * 300])
def test_no_name_can_write_a_header(api, job, name):
    row = files.store(iter([b"abc"]), name=name, uploaded_by=api.box.id, most_bytes=10)
    api.about(job, "files", fileId=str(row.id), name="log")

    answer = api.get(f"runner/files/{row.id}")

    assert (answer.status_code, answer.body) == (200, b"abc")
    assert not {"\r", "\n", "\x00"} & set(answer["Content-Disposition"])


@pytest.mark.parametrize("mime_type", ["text/plain", "text/html", "nonsense", "a/b; charset=x", "x" * 200 + "/y", "\xff/\xff"])
def test_only_a_short_safe_list_is_shown_in_place(api, job, mime_type):
    row = files.store(iter([b"abc"]), name="a", mime_type=mime_type, uploaded_by=api.box.id, most_bytes=10)
    api.about(job, "files", fileId=str(row.id), name="log")

    answer = api.get(f"runner/files/{row.id}")

    inline = mime_type == "text/plain"
    assert answer["Content-Type"] == ("text/plain" if inline else "application/octet-stream")
    assert answer["Content-Disposition"].startswith("inline" if inline else "attachment")
    assert answer["X-Content-Type-Options"] == "nosniff"


def test_a_download_is_whole_and_may_be_kept_for_ever(api, job):
    answer = api.get(f"runner/files/{job['packageFileId']}", Accept_Encoding="gzip")

    assert answer.body == b"PK package"
    assert answer["ETag"] == f'"{job["packageSha256"]}"'
    assert answer["Cache-Control"] == "private, immutable, max-age=31536000"
    assert (answer["Content-Length"], answer["Accept-Ranges"]) == ("10", "bytes")
    assert "Content-Encoding" not in answer


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("bytes=0-3", (206, b"PK p", "bytes 0-3/10")),
        ("bytes=8-", (206, b"ge", "bytes 8-9/10")),
        ("bytes=8-100", (206, b"ge", "bytes 8-9/10")),
        ("bytes=-2", (206, b"ge", "bytes 8-9/10")),
        ("bytes=-100", (206, b"PK package", "bytes 0-9/10")),
        ("bytes=0-0", (206, b"P", "bytes 0-0/10")),
        ("bytes=0-1,3-4", (200, b"PK package", None)),
        ("bytes=3-2", (200, b"PK package", None)),
        ("bytes=-", (200, b"PK package", None)),
        ("bytes=a-b", (200, b"PK package", None)),
        ("lines=0-3", (200, b"PK package", None)),
        ("bytes=" + "9" * 5000 + "-", (200, b"PK package", None)),
        ("bytes=²-", (200, b"PK package", None)),
        ("", (200, b"PK package", None)),
    ],
)
def test_a_part_can_be_asked_for(api, job, asked, answered):
    answer = api.get(f"runner/files/{job['packageFileId']}", Range=asked)

    assert (answer.status_code, answer.body, answer.get("Content-Range")) == answered
    assert answer["Content-Length"] == str(len(answered[1]))


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=999999999999999999-", "bytes=-0"])
def test_a_part_behind_the_end_is_not_satisfiable(api, job, asked):
    answer = api.get(f"runner/files/{job['packageFileId']}", Range=asked)

    refused(answer, 416, "range_not_satisfiable")
    assert answer["Content-Range"] == "bytes */10"
    assert "Cache-Control" not in answer


@pytest.mark.parametrize(("tag", "status"), [("same", 206), ('"other"', 200), ("Mon, 30 Nov 2026 08:00:00 GMT", 200)])
def test_a_part_of_another_version_is_not_sent(api, job, tag, status):
    tag = f'"{job["packageSha256"]}"' if tag == "same" else tag

    assert api.get(f"runner/files/{job['packageFileId']}", Range="bytes=0-3", If_Range=tag).status_code == status


@pytest.mark.parametrize("form", ['"{}"', 'W/"{}"', '"other", "{}"', "*"])
def test_what_the_caller_has_already_is_not_sent(api, job, form):
    answer = api.get(f"runner/files/{job['packageFileId']}", If_None_Match=form.format(job["packageSha256"]), Range="bytes=0-3")

    assert (answer.status_code, answer.content) == (304, b"")
    assert answer["ETag"] == f'"{job["packageSha256"]}"'
    assert "Content-Type" not in answer


def test_head_tells_of_a_file_without_sending_it(api, job):
    answer = api.send("HEAD", f"runner/files/{job['packageFileId']}")

    assert (answer.status_code, answer["Content-Length"]) == (200, "10")


def test_package_sources_and_own_attachments_are_for_the_holder_alone(api, api_2, job):
    log = api.upload().json()["id"]
    api.about(job, "files", fileId=log, name="log")
    needed = [job["packageFileId"], job["files"][0]["fileId"], log]

    assert [api.get(f"runner/files/{file}").status_code for file in needed] == [200] * 3
    for file in needed:
        refused(api_2.get(f"runner/files/{file}"), 404, "not_found")


@pytest.mark.parametrize("end", ["reported", "released", "lapsed", "cancelled"])
def test_nothing_can_be_read_when_the_lease_is_over(api, job, clock, end):
    log = api.upload().json()["id"]
    api.about(job, "files", fileId=log, name="log")
    if end == "reported":
        api.about(job, "report", verdict="Accepted")
    elif end == "released":
        api.about(job, "release")
    elif end == "lapsed":
        clock.forward(seconds=601)
    else:
        queue.cancel(Attachment.objects.get().delivery.job_id, by="user:1", reason="wrong data")

    for file in (job["packageFileId"], job["files"][0]["fileId"], log):
        refused(api.get(f"runner/files/{file}"), 404, "not_found")


def test_attachments_of_an_earlier_delivery_are_not_the_next_ones(api, job):
    log = api.upload().json()["id"]
    api.about(job, "files", fileId=log, name="log")
    api.about(job, "release")
    api.claim()

    refused(api.get(f"runner/files/{log}"), 404, "not_found")


@pytest.mark.parametrize("path_id", ["nonsense", "%00", "0" * 32, str(uuid4())])
def test_a_file_nobody_stored_is_not_found(api, path_id):
    refused(api.get(f"runner/files/{path_id}"), 404, "not_found")


def test_another_problems_files_stay_hidden(api, job):
    secret = factories.package(b"secret")
    factories.work(package=secret)

    refused(api.get(f"runner/files/{secret.id}"), 404, "not_found")


def test_an_attachment_is_the_callers_own_unattached_upload(api, api_2, job):
    mine, foreign = api.upload(b"1").json()["id"], api_2.upload(b"2").json()["id"]

    assert api.about(job, "files", fileId=mine, name="log").status_code == 204
    for file in (mine, foreign, str(uuid4()), "nonsense", "\x00\ud800", job["packageFileId"]):
        refused(api.about(job, "files", fileId=file, name="details"), 422, "file.missing")
    refused(api.about(job, "files", fileId=foreign, name="log"), 409, "attempt.file.duplicate")


@pytest.mark.parametrize("name", ["", " ", "x" * 129])
def test_a_role_has_one_to_128_characters(api, job, name):
    refused(api.about(job, "files", fileId=api.upload().json()["id"], name=name), 400, "malformed_request")


@pytest.mark.parametrize("missing", ["fileId", "name"])
def test_an_attachment_names_a_file_and_a_role(api, job, missing):
    sent = {"fileId": str(uuid4()), "name": "log"} | {missing: None}

    assert refused(api.about(job, "files", **sent), 400, "malformed_request")["errors"].keys() == {missing}


def test_a_file_about_the_runner_replaces_the_one_of_that_name(api):
    first, second = api.upload(b"1").json()["id"], api.upload(b"2").json()["id"]

    for file in (first, second):
        assert api.post("runner/files/attach", {"fileId": file, "name": "machine"}).status_code == 204

    assert str(RunnerAttachment.objects.get().file_id) == second
    refused(api.post("runner/files/attach", {"fileId": str(uuid4()), "name": "machine"}), 422, "file.missing")


def test_a_lost_blob_is_the_storages_failure(api, job, storage):
    for path in storage.rglob("*"):
        if path.is_file():
            path.unlink()

    answer = api.get(f"runner/files/{job['packageFileId']}")

    refused(answer, 503, "storage.unavailable")
    assert answer["Retry-After"] == "30"


def test_a_storage_that_fails_keeps_nothing(api, storage):
    storage.parent.mkdir(exist_ok=True)
    storage.write_text("a file where the folder should be")

    refused(api.upload(), 503, "storage.unavailable")

    assert not StoredFile.objects.exists()
    assert api.get("health").json()["storage"] == "unavailable"
