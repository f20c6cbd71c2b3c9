"""Two stores that are told the same, and must answer and stand the same: ids differ, so each pair is learnt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from django.db import connection

from judging.models import Job as JobRow
from judging.models import Outcome, Result
from tests.contract.channel import Run
from tests.contract.interface import Id, Job, Refused
from tests.contract.model import Model
from tests.contract.postgres import answer_of, snapshot
from tests.contract.postgres_channel import PostgresChannelStore, kept_of, run_of

_MODELS_ID = re.compile(r"(lane|runner|submission|job|token|result|outcome|nobody) \d+")
_DRIFT = 30.0
"""Seconds that the true clock may go on during one example. Everything the machine asks for is whole minutes."""
_OFFERS = """
SELECT r.runner, t.head FROM unnest(%s::uuid[]) r (runner), LATERAL judge_pick(r.runner, false) p
LEFT JOIN judging_thread t ON t.id = p.thread
"""


class Twins:
    """The model and the database. Everything outside speaks the model's ids."""

    def __init__(self, clock: Any) -> None:
        self.model = Model()
        self.store = PostgresChannelStore(clock)
        self.began = self.store.now()
        self.real: dict[Id, Any] = {None: None}
        self._taken: set[Any] = set()

    def make(self, kind: str, **how: Any) -> Id:
        """A lane, a runner or an unknown id in both."""
        here, there = getattr(self.model, kind)(**how), getattr(self.store, kind)(**how)
        self.learn(here, there)
        return here

    def forward(self, seconds: float) -> None:
        self.model.forward(seconds)
        self.store.forward(seconds)

    def do(self, verb: str, *things: Any, **how: Any) -> Any:
        """One verb in both; the model's answer, or the Refused both met."""
        with self.model.client() as here, self.store.client() as there:
            expected = answer_of(lambda: getattr(here, verb)(*things, **how))
            translated = {name: self.translate(value) for name, value in how.items()}
            met = answer_of(lambda: getattr(there, verb)(*map(self.translate, things), **translated))
        self.match(expected, met, f"{verb}{things}{how}")
        return expected

    def learn(self, here: Id, there: Any) -> None:
        assert there not in self._taken, f"{there} was issued twice"
        self._taken.add(there)
        self.real[here] = there

    def translate(self, value: Any) -> Any:
        """A thing of the model, or a tuple of them, as the database calls it; anything else is itself."""
        if isinstance(value, tuple):
            return tuple(map(self.translate, value))
        return self.real.get(value, value) if isinstance(value, str) else value

    def match(self, expected: Any, met: Any, place: str) -> None:
        """Raise AssertionError unless both say the same."""
        if isinstance(expected, Refused) or isinstance(met, Refused):
            said = [answer.code if isinstance(answer, Refused) else answer for answer in (expected, met)]
            assert said[0] == said[1], f"{place}: expected {said[0]}, met {said[1]}"
        elif is_dataclass(expected):
            assert type(expected) is type(met), f"{place}: expected {expected}, met {met}"
            for field in fields(expected):
                self.match(getattr(expected, field.name), getattr(met, field.name), f"{place}.{field.name}")
        elif isinstance(expected, list):
            assert {self.real[item] for item in expected} == set(met), f"{place}: expected {expected}, met {met}"
        elif isinstance(expected, str) and _MODELS_ID.fullmatch(expected):
            if expected not in self.real:
                assert met is not None, f"{place}: expected {expected}, met nothing"
                self.learn(expected, met)
            assert self.real[expected] == met, f"{place}: expected {expected}, met {met}"
        elif place.endswith(".reason"):
            # The words are a store's own, but for a job that was given up: they name the count (runner-protocol §6).
            given_up = expected.partition(":")[0] if expected.startswith("Given up") else ""
            assert met.startswith(given_up), f"{place}: expected {expected!r}, met {met!r}"
        elif place.endswith(".until") or place.startswith("renew"):
            self._match_moment(expected, met, place)
        else:
            assert expected == met, f"{place}: expected {expected!r}, met {met!r}"

    def _match_moment(self, expected: float | None, met: float | None, place: str) -> None:
        assert (expected is None) is (met is None), f"{place}: expected {expected}, met {met}"
        if expected is not None and met is not None:
            assert 0 <= met - self.began - expected < _DRIFT, f"{place}: expected {expected}, met {met - self.began}"

    def compare(self) -> None:
        """Every job stands the same in both, and every runner is offered the same."""
        verdicts = dict(Result.objects.values_list("job_id", "verdict"))
        kept = {job: kept_of(job) for job in Outcome.objects.values_list("job", flat=True)}
        stored = {row.id: (snapshot(row, verdicts.get(row.id)), run_of(row, kept.get(row.id, ""))) for row in JobRow.objects.all()}
        for job, run in self._jobs():
            met = stored.pop(self.real[job.id], None)
            assert met is not None, f"{job.id} is missing"
            self.match(job, met[0], f"{job.id}")
            self.match(run, met[1], f"{job.id}, its run")
        assert not stored, f"jobs that should not be there: {stored}"
        offers = self._offers()
        for runner in self.model.runners:
            self.match(self.model.offered(runner), offers[self.real[runner]], f"offered to {runner}")

    def _jobs(self) -> Iterator[tuple[Job, Run]]:
        with self.model.client() as client:
            for job in self.model.jobs:
                yield client.job(job), client.run(job)

    def _offers(self) -> dict[Any, Any]:
        """For each runner the head of the thread that the claim's own query would pick."""
        with connection.cursor() as cursor:
            cursor.execute(_OFFERS, [[self.real[runner] for runner in self.model.runners]])
            return dict(cursor.fetchall())
