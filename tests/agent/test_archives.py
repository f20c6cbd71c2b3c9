"""Archives from strangers (runner-agent §3.10)."""

import contextlib
import errno
import io
import random
import stat
import struct
import zipfile
import zlib

import pytest

from judging import packages
from runners.agent import archive
from runners.agent.archive import unpack
from runners.agent.errors import Invalid
from runners.agent.kinds import look_over


def zip_of(entries):
    """A zip of names and contents; a content that is a ZipInfo-and-text pair is written as given."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in entries:
            made.writestr(name, content)
    buffer.seek(0)
    return buffer


def link(name):
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def faults(tmp_path, entries):
    with pytest.raises(Invalid) as caught:
        unpack(zip_of(entries), tmp_path)
    return " | ".join(caught.value.faults)


def test_files_and_folders_come_out_as_they_were_put_in(tmp_path):
    assert unpack(zip_of([("a.txt", "1"), ("b/c.txt", "2"), ("empty/", "")]), tmp_path) == ()

    assert (tmp_path / "a.txt").read_text() == "1"
    assert (tmp_path / "b" / "c.txt").read_text() == "2"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../../etc/passwd", "leads out"),
        ("a/../../b", "leads out"),
        ("..\\..\\b", "leads out"),
        ("/etc/passwd", "absolute"),
        ("C:/windows", "absolute"),
        ("a\nb", "control"),
        ("x" * 300, "too long"),
    ],
)
def test_a_name_that_leads_astray_refuses_the_archive_before_anything_is_written(tmp_path, name, why):
    assert why in faults(tmp_path, [("fine", "1"), (name, "2")])
    assert list(tmp_path.iterdir()) == []


def test_every_bad_name_is_listed(tmp_path):
    said = faults(tmp_path, [("/a", ""), ("../b", ""), ("fine", "")])

    assert "'/a'" in said
    assert "'../b'" in said


@pytest.mark.parametrize("aim", ["/etc/passwd", "../outside", "nowhere"])
def test_a_link_to_anything_but_a_file_of_the_archive_is_refused(tmp_path, aim):
    assert "a link to" in faults(tmp_path, [("a/real", "1"), (link("a/link"), aim)])


def test_a_link_to_a_file_of_the_archive_becomes_a_copy(tmp_path):
    unpack(zip_of([("a/real", "1"), (link("b/link"), "../a/real")]), tmp_path)

    assert not (tmp_path / "b" / "link").is_symlink()
    assert (tmp_path / "b" / "link").read_text() == "1"


def test_a_device_in_an_archive_is_refused(tmp_path):
    info = zipfile.ZipInfo("fifo")
    info.external_attr = (stat.S_IFIFO | 0o666) << 16
    assert "neither a file nor a folder" in faults(tmp_path, [(info, "")])


@pytest.mark.parametrize("names", [("Tests/1a.in", "tests/1a.out"), ("A", "a"), ("\u00c9", "E\u0301".lower())])
def test_names_that_differ_only_in_case_are_refused(tmp_path, names):
    assert "differ only in case" in faults(tmp_path, [(name, "") for name in (*names, "other")])


def test_a_file_that_would_have_to_be_a_folder_is_refused(tmp_path):
    assert "a file and a folder" in faults(tmp_path, [("a", "1"), ("a/b", "2")])


def test_hidden_entries_are_ignored_with_a_note(tmp_path):
    notes = unpack(zip_of([("a", "1"), ("__MACOSX/a", "x"), (".DS_Store", "x"), ("b/.git/c", "x"), ("d/e", "2")]), tmp_path)

    assert len(notes) == 3
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["a", "e"]


def test_one_outer_folder_is_stripped_with_a_note(tmp_path):
    notes = unpack(zip_of([("sum/config.yml", "1"), ("sum/tests/1a.in", "2"), ("__MACOSX/x", "")]), tmp_path)

    assert any("outer folder 'sum'" in note for note in notes)
    assert (tmp_path / "tests" / "1a.in").read_text() == "2"


def test_exactly_the_allowed_number_of_entries_is_taken_and_one_more_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_ENTRIES", 3)
    unpack(zip_of([(f"{n}", "") for n in range(3)]), tmp_path / "three")
    assert "more than 3 entries" in faults(tmp_path, [(f"{n}", "") for n in range(4)])


def test_an_entry_is_measured_by_what_it_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_ENTRY_BYTES", 100)
    unpack(zip_of([("a", "x" * 100), ("b", "")]), tmp_path / "fits")
    assert "more than" in faults(tmp_path, [("a", "x" * 101), ("b", "")])


def test_all_entries_together_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_TOTAL_BYTES", 100)
    assert "in all" in faults(tmp_path, [("a", "x" * 60), ("b", "x" * 60)])


def test_a_bomb_is_stopped_by_its_ratio(tmp_path):
    assert "compressed more than 1000 times" in faults(tmp_path, [("a", bytes(40 << 20)), ("b", "")])


def test_a_file_that_is_no_zip_is_refused(tmp_path):
    with pytest.raises(Invalid, match="not a zip"):
        unpack(io.BytesIO(b"hello"), tmp_path)


def test_a_truncated_or_damaged_zip_is_refused(tmp_path):
    whole = zip_of([("a", "hello " * 1000), ("b", "x")]).getvalue()
    with pytest.raises(Invalid):
        unpack(io.BytesIO(whole[: len(whole) // 2]), tmp_path / "half")
    damaged = bytearray(whole)
    damaged[45] ^= 0xFF
    (tmp_path / "damaged").mkdir()
    with pytest.raises(Invalid, match="unreadable"):
        unpack(io.BytesIO(bytes(damaged)), tmp_path / "damaged")


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_no_damage_raises_anything_but_that_the_archive_is_invalid(tmp_path, how):
    chance, whole = random.Random(how), io.BytesIO()
    with zipfile.ZipFile(whole, "w", how) as made:
        for name in ("config.yml", "tests/1a.in", "\u00e9/\u00fc.txt"):
            made.writestr(name, "x" * 200)
    for attempt in range(300):
        content = bytearray(whole.getvalue())
        for _ in range(chance.randint(1, 5)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        target = tmp_path / str(attempt)
        target.mkdir()
        with contextlib.suppress(Invalid):
            unpack(io.BytesIO(content), target)
        # The server's own look at it, before anybody's reader.
        assert isinstance(packages.faults(io.BytesIO(content)), list)


def test_a_full_disk_is_not_the_archives_fault(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(archive, "_write", full)

    with pytest.raises(OSError, match="No space left"):
        unpack(zip_of([("a", "x")]), tmp_path)
    looked = look_over(zip_of([("a", "x")]), "standard-io@1")
    assert looked is not None
    assert "not its fault" in looked.faults[0]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_and_a_link_of_one_name_are_refused(tmp_path):
    assert "'a': occurs twice" in faults(tmp_path, [("a", "x"), ("b", "x"), (link("a"), "b")])


@pytest.mark.parametrize("name", ["./", ".", ".\\"])
def test_what_is_called_as_the_folder_itself_is_told_or_passed_over_and_never_breaks_the_reader(name):
    raw = zip_of([(name, ""), ("good.txt", "2")]).getvalue()
    looked = packages.faults(io.BytesIO(raw))
    said = look_over(io.BytesIO(raw), "standard-io@1")

    told = name == "."
    assert said is not None
    assert [fault.words for fault in looked] == ["A file is called '.', which is no name."] * told
    assert any("no name at all" in each for each in said.faults) == told


def test_an_entry_without_a_name_is_a_fault_and_no_crash():
    body, name = b"1", b""
    checked = struct.pack("<III", zlib.crc32(body), len(body), len(body))
    local = b"PK\3\4" + struct.pack("<HHHHH", 20, 0, 0, 0, 33) + checked + struct.pack("<HH", len(name), 0) + name + body
    entry = b"PK\1\2" + struct.pack("<HHHHHH", 20, 20, 0, 0, 0, 33) + checked + struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, 0) + name
    raw = local + entry + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), len(local), 0)

    assert "A file is called '', which is no name." in [fault.words for fault in packages.faults(io.BytesIO(raw))]
    said = look_over(io.BytesIO(raw), "standard-io@1")
    assert said is not None
    assert said.faults
