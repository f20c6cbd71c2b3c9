"""A small server of the runner protocol in memory, that can be told to misbehave. On loopback only."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
import secrets
import threading
import time
import uuid
from datetime import UTC, datetime, timedelta
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

BASE = "/api/v1/"
ENDLESS_HEADS = {"dripping head": (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x"), "hints": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n")}
"""What begins an answer, and what follows again and again."""

SURROGATES = json.dumps(dict.fromkeys(("nonce", "token", "leaseToken", "jobId", "leaseExpiresAt"), "\ud800")).encode()


class Problem(Exception):
    """An answer that is an error."""

    def __init__(self, status, code, headers=None):
        self.status, self.code, self.headers = status, code, headers or {}


class FakeServer:
    """Holds jobs, leases and results as runner-protocol.md says; `faults` are taken one a request, oldest first."""

    def __init__(self):
        self.lock = threading.Condition()
        self.runners, self.nonces, self.tokens = {}, {}, {}
        self.files, self.queue, self.held, self.results = {}, [], {}, {}
        self.attached, self.released, self.calls, self.faults = [], [], [], []
        self.approve_new, self.lease_s, self.hurry = True, 600, False
        self.httpd = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"server_side": self}))
        self.httpd.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.httpd.server_port}"
        threading.Thread(target=self.httpd.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.httpd.shutdown()
        self.httpd.server_close()

    # What a test does.

    def misbehave(self, how, path="", times=1):
        """`drop`, `garbage`, `surrogates`, `drip`, an endless head, a status, or a Problem, for the next requests whose
        path holds `path`."""
        with self.lock:
            self.faults += [(path, how)] * times

    def store(self, data):
        file_id = str(uuid.uuid4())
        self.files[file_id] = data
        return {"fileId": file_id, "sha256": hashlib.sha256(data).hexdigest(), "sizeBytes": len(data)}

    def end_waits(self):
        """Answer what waits, as a server that is stopped does."""
        with self.lock:
            self.hurry = True
            self.lock.notify_all()

    def submit(self, package=None, source=b"print(3)", name="a.py", language="python3", config=None, **members):
        """Queue a job; answers its id."""
        stored = self.store(package) if package else {"fileId": "", "sha256": ""}
        job = {
            "jobId": str(uuid.uuid4()),
            "submissionId": str(uuid.uuid4()),
            "attempt": 1,
            "problemType": "standard-io@1",
            "problemVersionId": str(uuid.uuid4()),
            "packageFileId": stored["fileId"],
            "packageSha256": stored["sha256"],
            "files": [{"name": "source", "fileName": name, **self.store(source)}],
            "props": {"language": language},
        }
        job |= {"config": config} if config else {}
        with self.lock:
            self.queue.append(job | members)
            self.lock.notify_all()
        return job["jobId"]

    def reclaim(self, job_id):
        """The lease is over: the job goes back, its token dies."""
        with self.lock:
            self.queue.append(self.held.pop(job_id)["job"])
            self.lock.notify_all()

    def revoke(self):
        with self.lock:
            for runner in self.runners.values():
                runner["state"] = "revoked"
            for job_id in list(self.held):
                self.queue.append(self.held.pop(job_id)["job"])

    def until(self, true, seconds=10):
        """Wait for something to have happened."""
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline, f"did not happen; calls: {self.calls[-20:]}"
            time.sleep(0.01)

    def called(self, part):
        return [path for path in list(self.calls) if part in path]

    # What a runner calls.

    def answer(self, path, body, headers):
        routes: dict[str, Any] = {
            r"runner/register": self._register,
            r"runner/auth/challenge": self._challenge,
            r"runner/auth/token": self._token,
            r"runner/jobs/claim": self._claim,
            r"runner/jobs/([^/]+)/lease": self._lease,
            r"runner/jobs/([^/]+)/progress": self._progress,
            r"runner/jobs/([^/]+)/release": self._release,
            r"runner/jobs/([^/]+)/report": self._report,
            r"runner/jobs/([^/]+)/files": self._attach,
            r"runner/files": self._upload,
            r"runner/files/([^/]+)": self._download,
            r"runner/heartbeat": lambda _: None,
        }
        for pattern, call in routes.items():
            if found := re.fullmatch(pattern, path):
                if not path.startswith(("runner/register", "runner/auth")):
                    self._authenticate(headers)
                return call(body, *found.groups())
        raise Problem(404, "not_found")

    def _authenticate(self, headers):
        fingerprint = self.tokens.get((headers.get("authorization") or "").removeprefix("Bearer "))
        if fingerprint is None:
            raise Problem(401, "unauthenticated")
        if self.runners[fingerprint]["state"] != "approved":
            raise Problem(403, "runner.notApproved")

    def _register(self, body):
        raw = base64.b64decode(body["publicKey"])
        fingerprint = hashlib.sha256(raw).hexdigest()
        known = self.runners.get(fingerprint)
        if known is None:
            self.runners[fingerprint] = {"key": raw, "state": "approved" if self.approve_new else "pendingApproval", "body": body}
        elif known["state"] == "revoked":
            raise Problem(409, "runner.revoked")
        else:
            self._check(fingerprint, body)
            known["body"] = body
        return {"runnerId": fingerprint[:8], "fingerprint": fingerprint, "state": self.runners[fingerprint]["state"]}

    def _check(self, fingerprint, body):
        if self.nonces.pop(body.get("nonce"), None) != fingerprint:
            raise Problem(403, "runner.nonce.unknown")
        try:
            key = Ed25519PublicKey.from_public_bytes(self.runners[fingerprint]["key"])
            key.verify(base64.b64decode(body["signature"]), body["nonce"].encode())
        except InvalidSignature as error:
            raise Problem(403, "runner.signature") from error

    def _challenge(self, body):
        if body["fingerprint"] not in self.runners:
            raise Problem(404, "not_found")
        nonce = base64.b64encode(secrets.token_bytes(32)).decode()
        self.nonces[nonce] = body["fingerprint"]
        return {"nonce": nonce, "expiresAt": _instant(120)}

    def _token(self, body):
        fingerprint = body["fingerprint"]
        if self.runners[fingerprint]["state"] != "approved":
            raise Problem(403, "runner.notApproved")
        self._check(fingerprint, body)
        token = secrets.token_hex(16)
        self.tokens[token] = fingerprint
        return {"token": token, "expiresAt": _instant(43200)}

    def _claim(self, body):
        with self.lock:
            self.lock.wait_for(lambda: self.queue or self.hurry, timeout=min(body.get("waitSeconds", 0), 2))
            if not self.queue:
                return None
            job = self.queue.pop(0)
            token = str(uuid.uuid4())
            self.held[job["jobId"]] = {"job": job, "token": token}
            return {**job, "leaseToken": token, "leaseExpiresAt": _instant(self.lease_s)}

    def _gate(self, job_id, body):
        if self.held.get(job_id, {}).get("token") != body["leaseToken"]:
            raise Problem(403, "runner.lease.stale")

    def _lease(self, body, job_id):
        self._gate(job_id, body)
        return {"jobId": job_id, "leaseToken": body["leaseToken"], "leaseExpiresAt": _instant(self.lease_s)}

    def _progress(self, body, job_id):
        self._gate(job_id, body)

    def _release(self, body, job_id):
        self._gate(job_id, body)
        self.released.append(job_id)
        self.reclaim(job_id)

    def _report(self, body, job_id):
        with self.lock:
            if body["leaseToken"] in self.results:
                return {"resultId": "r", "state": "completed", "duplicate": True}
            self._gate(job_id, body)
            held = self.held.pop(job_id)
            self.results[body["leaseToken"]] = {"jobId": job_id, **body}
            if body.get("infrastructureFailure"):
                return {"state": "queued", "duplicate": False}
            del held
            return {"resultId": "r", "state": "completed", "duplicate": False}

    def _upload(self, body):
        parts = {part.get_param("name", header="content-disposition"): part for part in body.get_payload()}
        data = parts["file"].get_payload(decode=True)
        if hashlib.sha256(data).hexdigest() != parts["sha256"].get_payload():
            raise Problem(422, "checksum_mismatch")
        return {"id": self.store(data)["fileId"]}

    def _attach(self, body, job_id):
        self._gate(job_id, body)
        self.attached.append((job_id, body["name"], self.files[body["fileId"]]))

    def _download(self, _body, file_id):
        if file_id not in self.files:
            raise Problem(404, "not_found")
        return self.files[file_id]


def _instant(seconds):
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server_side: FakeServer

    def log_message(self, *_):
        """Quiet."""

    def do_GET(self):
        self._serve()

    def do_POST(self):
        self._serve()

    def _serve(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.removeprefix(BASE)
        self.server_side.calls.append(path)
        fault = self._fault(path)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            try:
                if fault is not None:
                    return self._misbehave(fault)
                self._send(200, self.server_side.answer(path, self._body(raw), self.headers))
            except Problem as problem:
                document = {"status": problem.status, "title": problem.code, "detail": problem.code, "code": problem.code}
                self._send(problem.status, document, problem.headers)
        return None

    def _body(self, raw):
        kind = self.headers.get("content-type", "")
        if kind.startswith("multipart/"):
            return BytesParser().parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + raw)
        return json.loads(raw) if raw else {}

    def _fault(self, path):
        with self.server_side.lock:
            for at, (part, how) in enumerate(self.server_side.faults):
                if part in path:
                    del self.server_side.faults[at]
                    return how
        return None

    def _misbehave(self, how):
        if isinstance(how, Problem):
            raise how
        if how == "drop":
            self.close_connection = True
            self.connection.close()
        elif how == "garbage":
            self._write(200, b'{"jobId": ', "application/json", {})
        elif how == "surrogates":
            self._write(200, SURROGATES, "application/json", {})
        elif how == "drip":
            self._drip()
        elif how in ENDLESS_HEADS:
            self._drip_head(*ENDLESS_HEADS[how])
        elif how == "html":
            self._write(403, b"<html>go away</html>", "text/html", {})
        else:
            self._write(how, b"", "text/plain", {})

    def _drip_head(self, begin, again):
        """A beginning of an answer that never comes to its body, until nobody listens."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.wfile.write(begin)
            for _ in range(2000):
                self.wfile.write(again)
                self.wfile.flush()
                time.sleep(0.02)

    def _drip(self):
        """A body of which a byte comes now and then, until nobody listens."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(2000):
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.02)

    def _send(self, status, document, headers=None):
        if document is None:
            self._write(204, b"", "", headers or {})
        elif isinstance(document, bytes):
            self._write(status, document, "application/octet-stream", headers or {})
        else:
            self._write(status, json.dumps(document).encode(), "application/json", headers or {})

    def _write(self, status, data, kind, headers):
        self.send_response(status)
        for name, value in {**({"Content-Type": kind} if kind else {}), **headers}.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
