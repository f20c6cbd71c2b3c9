"""The cases are not test modules by name, but their asserts should explain themselves all the same."""

import pytest

pytest.register_assert_rewrite("tests.contract.cases")
