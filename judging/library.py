"""publish: a problem gets its next version. Versions never change, so a mistake is mended by another one."""

from __future__ import annotations

from typing import IO
from uuid import UUID

from django.conf import settings

from judging.durable import one_transaction
from judging.errors import NotFound
from judging.files import store
from judging.models import Problem, ProblemVersion


def publish(problem: UUID, *, package: IO[bytes] | None, name: str = "package.zip", props: str = "") -> ProblemVersion:
    """Keep a package and open the problem's next version on it; work sent from now on is judged by it, unless pinned.

    `props` is compact JSON or empty. A crash in between leaves a file that nothing refers to, which is collected.
    Raises NotFound, and what storing a file raises.
    """
    if not Problem.objects.filter(id=problem).exists():
        raise NotFound
    kept = store(package, name=name, most_bytes=settings.LIMITS.upload_bytes) if package is not None else None
    with one_transaction():
        # The problem's row is the lock: two versions at once get two numbers.
        if Problem.objects.select_for_update().filter(id=problem).first() is None:
            raise NotFound
        newest = ProblemVersion.objects.filter(problem=problem).order_by("-number").values_list("number", flat=True).first()
        return ProblemVersion.objects.create(problem_id=problem, number=(newest or 0) + 1, package=kept, props=props)
