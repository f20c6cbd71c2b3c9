"""Answers in an archive: compared test by test, whatever the archive is."""

import io
import random
import zipfile

import pytest

from runners.agent.blob import Blob, holding
from runners.agent.box import BoxSettings
from runners.agent.cache import Cache
from runners.agent.details import details
from runners.agent.errors import InfrastructureFailure, Invalid
from runners.agent.judgement import Submission
from runners.agent.jury import Bench
from runners.agent.output_only.judge import Judge
from runners.agent.output_only.package import read_package
from runners.agent.verify import verify
from tests.agent.conftest import made_package, never

CONFIG = "type: output-only@1\ngroups:\n- {group: 1, points: 40}\n- {group: 2, points: 60}\n"
TESTS = {"1a": ("1 2\n", "3\n"), "1b": ("20 22\n", "42\n"), "2a": ("5 5\n", "10\n")}


def packed(files, **how):
    """A ZIP of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text, **how)
    return buffer.getvalue()


RIGHT = {"1a.out": "3", "1b.out": " 42 \n", "2a.out": "10"}


@pytest.fixture
def judge(tmp_path):
    """`judge(archive)`: nothing but a checker needs a box."""

    def judged(archive, config=CONFIG, over=None, *, box=None, toolchains=None, files=(), language="zip"):
        package = read_package(made_package(tmp_path / "package", config, TESTS, files))
        bench = Bench(box, toolchains, Cache(tmp_path / "cache").open())
        blob = Blob.of(archive)
        with holding(blob):
            return Judge(box, toolchains, bench, never).judge(package, over or {}, Submission(blob, "a.zip", language))

    return judged


@pytest.mark.parametrize(
    "archive", [RIGHT, {f"my answers/{name}": text for name, text in RIGHT.items()}, {"1a": "3", "1b": "42", "2a": "10"}]
)
def test_right_answers_are_accepted_however_they_are_packed(judge, archive):
    judgement = judge(packed(archive))

    assert (judgement.verdict, judgement.score, judgement.max_score) == ("Accepted", 100, 100)
    assert details(judgement)["compilation"]["status"] == "skipped"


def test_every_test_is_looked_at_and_a_failed_one_costs_its_group(judge):
    judgement = judge(packed({"1a.out": "4", "2a.out": "10"}))

    assert (judgement.verdict, judgement.score) == ("Wrong answer", 60)
    assert [one.status for one in judgement.tests] == ["Wrong answer", "Wrong answer", "Accepted"]
    assert [one.reason for one in judgement.tests] == ["token 1 is wrong", "there is no answer", ""]


def test_an_answer_as_large_as_allowed_passes_and_one_byte_more_does_not(judge):
    over = {"limits": {"outputBytes": 10}}

    assert judge(packed(RIGHT | {"1a.out": "3".ljust(10)}), over=over).verdict == "Accepted"
    assert judge(packed(RIGHT | {"1a.out": "3".ljust(11)}), over=over).verdict == "Output limit exceeded"


def test_a_bomb_is_only_unpacked_as_far_as_the_limit(judge):
    assert judge(packed(RIGHT | {"1a.out": "0" * (80 << 20)})).verdict == "Output limit exceeded"


def damaged():
    raw = bytearray(packed(RIGHT | {"1a.out": "3" + " " * 5000}))
    raw[38:44] = b"xxxxxx"
    return bytes(raw)


@pytest.mark.parametrize(
    "archive", [b"", b"no zip", packed(RIGHT)[:-30], packed({"../1a.out": "3"}), packed({"1A.out": "3", "1a.out": "3"})]
)
def test_an_archive_that_cannot_be_read_is_the_participants_own_fault(judge, archive):
    judgement = judge(archive)

    assert (judgement.verdict, judgement.score) == ("Compilation error", 0)
    assert judgement.compiler_log


def test_a_damaged_answer_costs_that_test_alone(judge):
    assert [one.status for one in judge(damaged()).tests] == ["Wrong answer", "Accepted", "Accepted"]


@pytest.mark.parametrize("how", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("seed", range(5))
def test_no_damage_a_participant_can_do_is_the_machines_fault(judge, how, seed):
    raw, chance = io.BytesIO(), random.Random(seed)
    with zipfile.ZipFile(raw, "w", how) as made:
        for name, text in RIGHT.items():
            made.writestr(name, text * 20)
    content = bytearray(raw.getvalue())
    for _ in range(20):
        content[chance.randrange(len(content))] = chance.randrange(256)

    assert judge(bytes(content)).verdict in {"Compilation error", "Wrong answer"}


def test_a_link_is_no_answer(judge):
    entry = zipfile.ZipInfo("1a.out")
    entry.external_attr = 0o120777 << 16
    archive = packed({"1b.out": "42", "2a.out": "10"} | {entry: "/etc/passwd"})

    assert judge(archive).tests[0].reason == "there is no answer"


@pytest.mark.parametrize("language", ["cpp17", "", "ZIP"])
def test_another_language_is_nobodys_verdict(judge, language):
    with pytest.raises(InfrastructureFailure, match="answers come in the language 'zip'"):
        judge(packed(RIGHT), language=language)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (CONFIG.replace("output-only", "standard-io"), "config.type"),
        (CONFIG + "limits: {timeMs: 5}\n", "unknown key 'timeMs'"),
        (CONFIG + "languages: [zip]\n", "unknown key 'languages'"),
        (CONFIG + "interactor: {source: a, language: cpp}\n", "unknown key 'interactor'"),
        (CONFIG + "checker: {source: c.py, language: python3}\n", "checker/c.py is no file"),
        ("type: output-only@1\ngroups: [{group: 1, points: 1}]\n", "group 2 is missing"),
    ],
)
def test_a_package_that_makes_no_sense_is_refused(judge, config, said):
    with pytest.raises(Invalid, match=said):
        judge(packed(RIGHT), config)


CHECK = "import sys\nsaid = open(sys.argv[2]).read()\nif said == 'half':\n  print('points 0.5', file=sys.stderr)\n  sys.exit(7)\n"
CHECKED = CONFIG + "checker: {source: c.py, language: python3}\n"


@pytest.mark.box
def test_a_checker_decides_and_its_failure_is_never_a_participants_verdict(judge, box, toolchains):
    how = {
        "box": box,
        "toolchains": toolchains,
        "files": {"checker/c.py": CHECK + "sys.exit(0 if said == 'yes' else 1 if said == 'no' else 9)"},
    }

    assert judge(packed(dict.fromkeys(RIGHT, "yes")), CHECKED, **how).verdict == "Accepted"
    judgement = judge(packed({"1a.out": "yes", "1b.out": "half", "2a.out": "no"}), CHECKED, **how)
    assert (judgement.verdict, judgement.score) == ("Wrong answer", 30)
    with pytest.raises(InfrastructureFailure, match="checker ended with 9"):
        judge(packed(dict.fromkeys(RIGHT, "?")), CHECKED, **how)


def test_a_package_of_answers_is_verified_too(tmp_path):
    root = made_package(tmp_path / "package", CONFIG, TESTS)
    for name, files in (("accepted/a.zip", RIGHT), ("wrong_answer/b.zip", RIGHT | {"2a.out": "11"}), ("accepted/c.zip", {})):
        (root / "submissions" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "submissions" / name).write_bytes(packed(files))
    out = io.StringIO()

    assert verify(root, BoxSettings(tmp_path / "work" / "scratch", "v", unsafe=True), out) == 1
    assert "2 as promised, 1 not" in out.getvalue()
    assert "BAD  accepted/c.zip: Wrong answer" in out.getvalue()
