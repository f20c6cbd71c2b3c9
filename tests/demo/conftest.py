"""The demo's contest in a database, its files apart."""

import pytest

from contests.demo import seed


@pytest.fixture
def seeded(transactional_db, settings, tmp_path):
    settings.STORAGES = settings.STORAGES | {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": tmp_path}}
    }
    return seed.seed()
