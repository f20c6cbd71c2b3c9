"""The contract, kept by Assize on PostgreSQL."""

import pytest

from judging.audit import audit
from judging.models import AuditResult
from tests.contract.cases import ChannelContract, QueueContract
from tests.contract.postgres import PostgresStore
from tests.contract.postgres_channel import PostgresChannelStore


class TestPostgres(QueueContract):
    """The verbs of judging.queue on the test database, its clock moved by the fixture."""

    @pytest.fixture
    def store(self, clock):
        yield PostgresStore(clock)
        _is_explained()


class TestPostgresOnTheChannel(ChannelContract):
    """The second part."""

    @pytest.fixture
    def store(self, clock):
        yield PostgresChannelStore(clock)
        _is_explained()


def _is_explained() -> None:
    """Whatever a case did, the ledger explains it."""
    outcome = audit()
    assert outcome.result == AuditResult.EQUAL, outcome.words
