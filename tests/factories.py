"""Things to test with, each made by one call. What belongs to the queue is made by the queue's own verbs.

Work:     work() is a problem with a version and a lane; submission() sends something in to be judged
Runners:  box() is an approved runner with its private key and a live bearer token; pending_box() waits for approval
Files:    stored_file() keeps content; package() is a problem's
"""

import base64
import hashlib
import itertools
from dataclasses import dataclass
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from judging import queue
from judging.files import blob_name
from judging.models import Lane, Problem, ProblemVersion, StoredFile
from judging.queue import NewSubmission, Receipt, SourceFile
from runners import handshake, keys
from runners.models import Runner

STANDARD_IO = "standard-io@1"
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Box:
    """A machine that judges: its row, its private key, and its bearer token once it has one."""

    runner: Runner
    key: Ed25519PrivateKey
    token: str = ""

    @property
    def id(self) -> UUID:
        """The runner's id."""
        return self.runner.id

    @property
    def fingerprint(self) -> str:
        """What the server calls the key."""
        return self.runner.fingerprint

    @property
    def public_key(self) -> str:
        """The raw public key as base64, as it is registered."""
        return base64.b64encode(self.key.public_key().public_bytes_raw()).decode()

    @property
    def bearer(self) -> dict[str, str]:
        """Headers for Django's test client: `client.post(url, headers=box.bearer)`."""
        return {"Authorization": f"Bearer {self.token}"}

    def sign(self, nonce: str) -> str:
        """The base64 signature over a nonce's text."""
        return base64.b64encode(self.key.sign(nonce.encode())).decode()


@dataclass(frozen=True, slots=True)
class Work:
    """A problem with its version and the lane its submissions wait in."""

    problem: Problem
    version: ProblemVersion
    lane: Lane


def stored_file(content: bytes = b"print(input())\n", *, name: str = "main.py", uploaded_by: UUID | None = None) -> StoredFile:
    """A reference to this content, which is in the storage."""
    sha256 = hashlib.sha256(content).hexdigest()
    if not default_storage.exists(blob_name(sha256)):
        default_storage.save(blob_name(sha256), ContentFile(content))
    return StoredFile.objects.create(sha256=sha256, size_bytes=len(content), name=name, uploaded_by=uploaded_by)


def package(content: bytes = b"PK package") -> StoredFile:
    """A problem's package; its content need not be a real one."""
    return stored_file(content, name="package.zip")


def work(
    *,
    slug: str = "",
    problem_type: str = STANDARD_IO,
    external: bool = False,
    pools: tuple[str, ...] = ("default",),
    cap: int = 5,
    config: str = "",
    version_props: str = "",
    package: StoredFile | None = None,
) -> Work:
    """A problem, its first version, and a lane for its submissions. `config` and `version_props` are compact JSON."""
    problem = Problem.objects.create(
        slug=slug or f"problem-{next(_numbers)}", title="A problem", problem_type=problem_type, external=external, max_deliveries=cap
    )
    version = ProblemVersion.objects.create(problem=problem, number=1, package=package, props=version_props)
    lane = Lane.objects.create(problem=problem, problem_type=problem_type, external=external, pools=list(pools), config=config)
    return Work(problem, version, lane)


def submission(into: Work | None = None, *, source: StoredFile | None = None, file_name: str = "main.py", **more: object) -> Receipt:
    """Something to judge, queued; `more` goes to NewSubmission. Needs a transactional test database."""
    into = into or work()
    source = source or stored_file()
    files = (SourceFile("source", file_name, source.id, source.sha256),)
    new = NewSubmission(lane=into.lane.id, version=into.version.id, files=files, **more)  # type: ignore[arg-type]
    return queue.submit(new, actor="user:1")


def pending_box(
    *,
    name: str = "",
    problem_types: tuple[str, ...] = (STANDARD_IO,),
    external: bool = False,
    tags: tuple[str, ...] = (),
) -> Box:
    """A registered runner that no operator has approved yet."""
    key = Ed25519PrivateKey.generate()
    raw = key.public_key().public_bytes_raw()
    row = Runner.objects.create(
        fingerprint=keys.fingerprint(raw),
        public_key=raw,
        name=name or f"box-{next(_numbers)}",
        problem_types=list(problem_types),
        external=external,
        tags=list(tags),
    )
    return Box(row, key)


def box(**declared: object) -> Box:
    """An approved runner with a live token; `declared` is pending_box's. Needs a transactional test database."""
    pending = pending_box(**declared)  # type: ignore[arg-type]
    queue.approve(pending.id)
    return Box(Runner.objects.get(id=pending.id), pending.key, new_token(pending))


def new_token(of: Box) -> str:
    """One more bearer token for an approved box, by the handshake itself."""
    nonce = handshake.challenge(of.fingerprint).text
    return handshake.token(of.fingerprint, nonce=nonce, signature=of.sign(nonce)).text


def claimed(by: Box) -> queue.ClaimedJob:
    """What this box claims now; there must be something."""
    job = queue.claim(by.id)
    assert isinstance(job, queue.ClaimedJob), job
    return job
