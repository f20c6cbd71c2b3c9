"""The contract, kept by Assize on PostgreSQL."""

import pytest

from judging.audit import audit
from judging.models import AuditResult
from tests.contract.cases import QueueContract
from tests.contract.postgres import PostgresStore


class TestPostgres(QueueContract):
    """The verbs of judging.queue on the test database, its clock moved by the fixture."""

    @pytest.fixture
    def store(self, clock):
        yield PostgresStore(clock)
        # Whatever a case did, the ledger explains it.
        outcome = audit()
        assert outcome.result == AuditResult.EQUAL, outcome.words
