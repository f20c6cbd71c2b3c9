"""The contract, kept by Assize on PostgreSQL."""

import pytest

from tests.contract.cases import QueueContract
from tests.contract.postgres import PostgresStore


class TestPostgres(QueueContract):
    """The verbs of judging.queue on the test database, its clock moved by the fixture."""

    @pytest.fixture
    def store(self, clock):
        return PostgresStore(clock)
