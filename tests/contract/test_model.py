"""The contract, kept by the queue in memory: the second opinion is itself examined."""

import pytest

from tests.contract.cases import ChannelContract, QueueContract
from tests.contract.model import Model


class TestModel(QueueContract):
    """No database."""

    @pytest.fixture
    def store(self):
        return Model()


class TestModelOnTheChannel(ChannelContract):
    """The second part."""

    @pytest.fixture
    def store(self):
        return Model()
