"""Content is kept once per hash, and what nobody refers to goes (runner-protocol §9)."""

import os
import threading
import time
from datetime import timedelta

import pytest
from django.core.files.storage import FileSystemStorage
from django.db import connection

from judging import files
from judging.errors import ChecksumMismatch, FileRequired, PayloadTooLarge, StorageUnavailable
from judging.models import StoredFile
from tests import factories

DAY = 24 * 3600


def blobs(storage) -> list[str]:
    return sorted(path.name for path in storage.rglob("*") if path.is_file())


def keep(content: bytes = b"abc", **more) -> StoredFile:
    return files.store(iter([content]), name="a", most_bytes=1000, **more)


def at_once(count: int, act) -> list[object]:
    """What `count` threads got or raised, begun together."""
    begun, results = threading.Barrier(count), []

    def run():
        begun.wait()
        try:
            results.append(act())
        except Exception as error:
            results.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.django_db(transaction=True)
class TestKeeping:
    def test_equal_content_is_one_blob_and_many_references(self, storage):
        rows = [keep(), keep(), keep(b"other")]

        assert len({row.id for row in rows}) == 3
        assert blobs(storage) == sorted({row.sha256 for row in rows})
        with files.open_file(rows[1]) as opened:
            assert opened.read() == b"abc"

    def test_fifty_equal_uploads_at_once_are_one_blob_and_fifty_references(self, storage):
        results = at_once(50, keep)

        assert {type(result) for result in results} == {StoredFile}
        assert StoredFile.objects.count() == 50
        assert len(blobs(storage)) == 1

    @pytest.mark.parametrize(
        ("content", "more", "refusal"),
        [(b"", {}, FileRequired), (b"x" * 1001, {}, PayloadTooLarge), (b"abc", {"sha256": "0" * 64}, ChecksumMismatch)],
    )
    def test_what_is_refused_leaves_no_trace(self, storage, content, more, refusal):
        with pytest.raises(refusal):
            keep(content, **more)

        assert (blobs(storage), StoredFile.objects.count()) == ([], 0)

    def test_a_row_that_cannot_be_written_leaves_no_blob(self, storage, monkeypatch):
        monkeypatch.setattr(StoredFile, "save", lambda *_, **__: 1 / 0)

        with pytest.raises(ZeroDivisionError):
            keep()

        assert blobs(storage) == []

    def test_a_row_that_cannot_be_written_leaves_the_blob_of_others(self, storage, monkeypatch):
        row = keep()
        monkeypatch.setattr(StoredFile, "save", lambda *_, **__: 1 / 0)

        with pytest.raises(ZeroDivisionError):
            keep()

        assert blobs(storage) == [row.sha256]

    def test_a_storage_elsewhere_keeps_content_by_its_own_means(self, settings):
        settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}

        rows = [keep(), keep()]

        with files.open_file(rows[1]) as opened:
            assert opened.read() == b"abc"
        assert files.storage_works()

    def test_a_stream_may_be_anything_with_bytes_in_it(self, tmp_path):
        (tmp_path / "a").write_bytes(b"abc")

        with (tmp_path / "a").open("rb") as stream:
            row = files.store(stream, name="a", most_bytes=3)

        assert row.size_bytes == 3


@pytest.mark.django_db(transaction=True)
class TestCollecting:
    @pytest.mark.parametrize(("seconds", "left"), [(DAY - 60, 1), (DAY + 60, 0)])
    def test_an_unattached_upload_goes_after_a_day(self, storage, clock, seconds, left):
        keep()
        clock.forward(seconds=seconds)

        assert files.collect_unattached() == 1 - left
        assert (StoredFile.objects.count(), len(blobs(storage))) == (left, left)

    def test_a_blob_stays_while_another_row_has_its_content(self, storage, api, clock):
        keep()
        factories.submission(source=keep())
        clock.forward(seconds=DAY + 60)

        assert files.collect_unattached() == 1
        assert (StoredFile.objects.count(), len(blobs(storage))) == (1, 1)

    def test_what_is_referred_to_stays(self, api, clock):
        factories.submission(factories.work(package=factories.package()))
        job = api.claim()
        api.about(job, "files", fileId=api.upload(b"1").json()["id"], name="log")
        api.post("runner/files/attach", {"fileId": api.upload(b"2").json()["id"], "name": "machine"})
        api.upload(b"3")
        clock.forward(seconds=DAY + 60)

        assert files.collect_unattached() == 1
        assert StoredFile.objects.count() == 4

    def test_the_look_can_be_bounded(self, clock):
        keep()
        clock.forward(days=9)

        assert files.collect_unattached(looking_back=timedelta(days=7)) == 0
        assert files.collect_unattached() == 1

    def test_a_file_somebody_is_attaching_is_left_alone(self, clock):
        from django.db import transaction

        row = keep()
        clock.forward(seconds=DAY + 60)

        with transaction.atomic():
            StoredFile.objects.select_for_update().get(id=row.id)
            assert at_once(1, files.collect_unattached) == [0]

        assert files.collect_unattached() == 1

    def test_an_upload_while_its_equal_is_collected_keeps_its_content(self, storage, clock):
        for _ in range(10):
            keep()
            clock.forward(seconds=DAY + 60)
            begun = threading.Barrier(2)

            def act(jobs=[keep, files.collect_unattached], begun=begun):  # noqa: B006 - shared on purpose
                mine = jobs[begun.wait()]
                return mine()

            fresh = next(result for result in at_once(2, act) if isinstance(result, StoredFile))

            with files.open_file(fresh) as opened:
                assert opened.read() == b"abc"

    def test_a_blob_that_cannot_be_removed_is_said(self, storage, clock, monkeypatch):
        keep()
        clock.forward(seconds=DAY + 60)
        monkeypatch.setattr(FileSystemStorage, "delete", lambda *_: 1 / 0)

        with pytest.raises(StorageUnavailable):
            files.collect_unattached()

    def test_drafts_of_killed_processes_go_after_a_day(self, storage):
        keep()
        old, young = storage / "incoming" / "old", storage / "incoming" / "young"
        for draft in (old, young):
            draft.write_bytes(b"half")
        os.utime(old, (time.time() - DAY - 60,) * 2)

        files.collect_unattached()

        assert (old.exists(), young.exists()) == (False, True)
