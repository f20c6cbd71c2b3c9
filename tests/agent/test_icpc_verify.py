"""`verify` of ICPC packages: what folders, tags, submissions.yaml and submissions.json promise, and whether it is kept."""

import io

import pytest

from runners.agent.box import BoxSettings
from runners.agent.icpc.demands import by_tag, glob
from runners.agent.icpc.examples import examples
from runners.agent.icpc.limits import PackageLimits
from runners.agent.icpc.package import read_package
from runners.agent.judgement import Judged, Judgement, RunLimits
from runners.agent.judgement import Test as PackageTest
from runners.agent.verdicts import Verdict
from runners.agent.verify import verify
from tests.agent.icpc import ADD, legacy, new, written

SHORT = {"AC": "Accepted", "WA": "Wrong answer", "TLE": "Time limit exceeded", "RTE": "Runtime error", "MLE": "Memory limit exceeded"}
NAMES = ("sample/1", "secret/1", "secret/2")


def judgement(*words, log=""):
    """Of the three tests of the package, in the words of the format."""
    verdicts = [Verdict(SHORT[word]) for word in words]
    tests = tuple(
        Judged(PackageTest(n, name, name.partition("/")[0], None, None), verdict, log=log)  # type: ignore[arg-type]
        for n, (name, verdict) in enumerate(zip(NAMES, verdicts, strict=True))
    )
    whole = next((verdict for verdict in verdicts if verdict is not Verdict.ACCEPTED), Verdict.ACCEPTED)
    return Judgement("icpc@1", whole, 1, RunLimits(1, 1), tests=tests)


@pytest.fixture
def promised(tmp_path):
    """`promised(files, name)`: what is promised of one submission."""

    def found(files, name):
        package = read_package(written(tmp_path / "package", files))
        return next(one for one in examples(package) if one.name == name)

    return found


@pytest.mark.parametrize(
    ("folder", "kept", "broken", "kept_in_new"),
    [
        ("accepted", "AC AC AC", "AC AC WA", True),
        ("wrong_answer", "AC WA AC", "AC AC AC", True),
        ("wrong_answer", "WA WA WA", "AC WA TLE", True),
        ("time_limit_exceeded", "AC TLE AC", "AC WA AC", True),
        ("time_limit_exceeded", "AC WA TLE", "AC TLE RTE", False),
        ("run_time_error", "AC MLE RTE", "AC AC WA", True),
        ("run_time_error", "WA TLE RTE", "AC AC TLE", False),
    ],
)
def test_a_folder_promises_what_its_format_says(promised, folder, kept, broken, kept_in_new):
    name = f"{folder}/x.py"
    old, young = promised(legacy(**{f"submissions/{name}": ADD}), name), promised(new(**{f"submissions/{name}": ADD}), name)

    assert old.check(judgement(*kept.split())) == []
    assert (young.check(judgement(*kept.split())) == []) is kept_in_new
    assert old.check(judgement(*broken.split()))
    assert young.check(judgement(*broken.split()))


@pytest.mark.parametrize(
    ("tag", "kept", "broken"),
    [
        ("CORRECT", "AC AC AC", "AC WA AC"),
        ("WRONG-ANSWER", "AC WA RTE", "AC RTE WA"),
        ("TIMELIMIT, CORRECT", "AC TLE AC", "AC WA AC"),
        ("run_error", "AC MLE AC", "AC TLE AC"),
    ],
)
def test_a_tag_promises_the_whole_verdict(promised, tag, kept, broken):
    one = promised(legacy(**{"submissions/mixed/x.py": f"# @EXPECTED_RESULTS@: {tag}\n{ADD}"}), "mixed/x.py")

    assert one.check(judgement(*kept.split())) == []
    assert one.check(judgement(*broken.split()))


def test_a_tag_for_people_and_a_folder_of_no_meaning_promise_nothing(promised):
    assert by_tag(b"// @EXPECTED_RESULTS@: CHECK-MANUALLY") is None
    assert by_tag(b"int main() {}") is None
    assert promised(legacy(**{"submissions/odd/x.py": ADD}), "odd/x.py").check(judgement("WA", "TLE", "RTE")) == []


RULES = """accepted/slow.py:
  sample: {permitted: [AC]}
  secret/*: {permitted: [AC, TLE], required: [TLE]}
'mixed/{one,two}.py': {permitted: [AC, WA], required: WA, message: too far}
wrong_answer: {permitted: [AC, WA, RTE]}
"""


def test_submissions_yaml_promises_of_single_tests_and_of_messages(promised):
    names = ("accepted/slow.py", "mixed/one.py", "mixed/two.py", "wrong_answer/x.py")
    files = new(**{"submissions/submissions.yaml": RULES}, **{f"submissions/{name}": ADD for name in names})
    slow, one, two, wrong = (promised(files, name) for name in names)

    assert "only AC may be" in slow.check(judgement("AC", "TLE", "AC"))[0], "the folder's own promise holds beside it"
    assert one.check(judgement("AC", "WA", "AC", log="much too far")) == []
    assert two.check(judgement("AC", "WA", "AC")) == ["no validator said 'too far'"]
    assert two.check(judgement("AC", "AC", "AC", log="too far")) == ["no test is WA"]
    assert wrong.check(judgement("AC", "WA", "RTE")) == [], "the folder's name itself replaces what it means"


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("accepted", "accepted/a.py", True),
        ("accepted/*", "accepted/a.py", True),
        ("*", "accepted/a.py", True),
        ("*.py", "accepted/a.py", False),
        ("accepted/a.{py,cpp}", "accepted/a.cpp", True),
        ("accepted/a.{py,cpp}", "accepted/a.java", False),
        ("{accepted,mixed}/{a*,b}", "mixed/b", True),
        ("accepted/a+(1).py", "accepted/a+(1).py", True),
        ("secret/*-easy", "secret/1-easy", True),
        ("secret/{", "secret/{", True),
    ],
)
def test_globs_are_the_formats(pattern, name, matches):
    assert bool(glob(pattern).fullmatch(name)) is matches


def test_languages_and_entries_are_told_or_found(promised):
    files = legacy(
        **{
            "submissions/accepted/x.txtt": ADD,
            "submissions/accepted/multi/main.py": "from lib import run\nrun()\n",
            "submissions/accepted/multi/lib.py": "",
            "submissions.json": '{"submissions/accepted/x.txtt": {"langid": "py3", "team": "jury"}}',
        }
    )

    assert promised(files, "accepted/x.txtt").language == "python3"
    assert promised(files, "accepted/multi").source == "main.py"
    assert promised(files, "accepted/a.py").language == "python3"


def test_a_time_limit_is_inferred_as_the_format_says():
    def limits(multiplier, resolution_s=1.0):
        return PackageLimits(None, 1, 1, None, 2, multiplier, resolution_s)  # type: ignore[arg-type]

    assert [limits(5.0).inferred_ms(ms) for ms in (1, 200, 201, 1000)] == [1000, 1000, 2000, 5000]
    assert limits(2.0, 0.1).inferred_ms(130) == 300


@pytest.fixture
def verified(tmp_path):
    """`verified(files)`: exit code and words of a verification."""

    def run(files, **how):
        out = io.StringIO()
        settings = BoxSettings(tmp_path / "work" / "scratch", f"v{tmp_path.name[-8:]}", **how)
        return verify(written(tmp_path / "package", files), settings, out), out.getvalue()

    return run


SUBTRACT = "a, b = map(int, input().split())\nprint(b - a)\n"


@pytest.mark.box
def test_a_package_that_keeps_its_promises_is_verified_and_its_time_limit_found(verified):
    files = legacy(
        **{
            ".timelimit": None,
            "submissions/wrong_answer/b.py": SUBTRACT,
            "submissions/run_time_error/c/main.py": "from d import fall\nfall()\n",
            "submissions/run_time_error/c/d.py": "def fall(): exit(1)\n",
        }
    )
    code, said = verified(files)

    assert code == 0, said
    assert "3 as promised, 0 not" in said
    assert "ms by the slowest accepted submission" in said


@pytest.mark.box
def test_every_promise_not_kept_is_named_and_every_bad_input(verified):
    files = new(**{"submissions/accepted/b.py": SUBTRACT, "submissions/wrong_answer/c.py": ADD, "data/secret/2.in": "5 5 5\n"})
    code, said = verified(files)

    assert code == 1
    assert "BAD  accepted/b.py: Wrong answer" in said
    assert "sample/1 is Wrong answer, and only AC may be" in said
    assert "BAD  secret/2.in: not accepted by the input validator takes: exited with 43" in said


def test_a_package_that_cannot_be_read_is_refused_with_every_fault(verified):
    code, said = verified(legacy("validation: costum\n", **{"data/secret/1.ans": None}), unsafe=True)

    assert code == 1
    assert len(said.splitlines()) == 2
