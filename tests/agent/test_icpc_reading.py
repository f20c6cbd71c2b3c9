"""Reading ICPC packages: what is understood, and what is said of everything that is not."""

import io
import zipfile

import pytest

from runners.agent.errors import Invalid
from runners.agent.icpc.package import read_package
from runners.agent.kinds import look_over
from tests.agent.icpc import legacy, new, scoring, written

CUSTOM = "name: Sum\nvalidation: custom\n"
CHECK = "import sys\nsys.exit(42)\n"


@pytest.fixture
def read(tmp_path):
    return lambda files: read_package(written(tmp_path / "package", files))


@pytest.fixture
def faults(read):
    """`faults(files)`: what keeps a package from being judged."""

    def found(files):
        with pytest.raises(Invalid) as caught:
            read(files)
        return list(caught.value.faults)

    return found


@pytest.mark.parametrize("files", [legacy(), legacy("problem_format_version: legacy-icpc\nname: Sum\n"), new()])
def test_a_whole_package_has_nothing_to_be_said_against_it(read, files):
    package = read(files)

    assert package.notes == ()
    assert [case.name for case in package.cases] == ["sample/1", "secret/1", "secret/2"]
    assert [case.group for case in package.cases] == ["sample", "secret", "secret"]
    assert [case.number for case in package.cases] == [1, 2, 3]
    assert package.validators == ()


def test_limits_are_the_formats_defaults_or_what_is_said(read):
    said = read(new(yaml="type: pass-fail\n").copy()).configured({}).limits
    assert (said.time_ms, said.memory_bytes, said.output_bytes) == (1000, 2048 << 20, 8 << 20)

    other = new()
    other["problem.yaml"] = other["problem.yaml"].replace("{time_limit: 1}", "{time_limit: 0.25, memory: 64, output: 2}")
    said = read(other).configured({}).limits
    assert (said.time_ms, said.memory_bytes, said.output_bytes) == (250, 64 << 20, 2 << 20)


@pytest.mark.parametrize(
    ("files", "time_ms"),
    [
        ({".timelimit": "2\n"}, 2000),
        ({".timelimit": None, "domjudge-problem.ini": "short-name = A\ntimelimit='1.5'\ncolor = #ff0000\n"}, 1500),
        ({".timelimit": "1.5", "domjudge-problem.ini": "timelimit = 1.5"}, 1500),
        ({".timelimit": None, "problem.yaml": None, "domjudge-problem.ini": "timelimit = 3"}, 3000),
    ],
)
def test_the_time_limit_is_where_domjudge_keeps_it(read, files, time_ms):
    assert read(legacy(**files)).limits.time_ms == time_ms


def test_time_limits_that_disagree_are_a_fault(faults):
    (said,) = faults(new(**{".timelimit": "2", "domjudge-problem.ini": "timelimit=1"}))

    assert "problem.yaml: limits.time_limit says 1 s; .timelimit says 2 s; domjudge-problem.ini says 1 s" in said


def test_without_a_time_limit_the_configuration_must_give_one(read):
    package = read(legacy(**{".timelimit": None}))

    assert any("no time limit" in note for note in package.notes)
    with pytest.raises(Invalid, match=r"limits\.timeMs"):
        package.configured({})
    assert package.configured({"limits": {"timeMs": 1234}}).limits.time_ms == 1234


def test_the_jobs_configuration_is_laid_over_the_packages(read):
    package = read(new(yaml="languages: [cpp, python3]\n"))
    over = {"type": "ignored", "limits": {"memoryBytes": 1 << 26}, "overrideLimits": {"java": {"timeMs": 9}}, "languages": ["java"]}
    configured = package.configured(over)

    assert configured.limits_of(family="java", language="java").time_ms == 9
    assert configured.limits_of(family="cpp", language="cpp").memory_bytes == 1 << 26
    assert configured.languages == ("java",)
    assert package.configured({}).languages == ("cpp", "python3")
    with pytest.raises(Invalid, match="unknown key 'colour'"):
        package.configured({"colour": "red"})
    with pytest.raises(Invalid, match=r"config\.limits"):
        package.configured({"limits": 3})


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (legacy("name: [\n"), "problem.yaml: not readable YAML"),
        (legacy("- a\n"), "problem.yaml: must be a map"),
        (new(yaml="type: [pass-fail, scoring]\n"), "problem.yaml:5: type: scoring problems of 2025-09 are not judged"),
        (legacy("type: scoring\ngrading: {objective: min}\n"), "problem.yaml: grading: objective must be max"),
        (scoring({"data/testdata.yaml": "range: 0\n"}), "data/testdata.yaml: range: must be two numbers"),
        (scoring({"data/testdata.yaml": "range: 2 1\n"}), "data/testdata.yaml: range: must be two numbers"),
        (scoring({"data/testdata.yaml": "accept_score: much\n"}), "data/testdata.yaml: accept_score: must be a number"),
        (scoring({"data/testdata.yaml": "reject_score: .nan\n"}), "data/testdata.yaml: reject_score: must be a number"),
        (scoring({"data/testdata.yaml": "on_reject: grade\n"}), "data/testdata.yaml: on_reject must be break or continue"),
        (
            scoring({"data/testdata.yaml": "grader_flags: sum most\n"}),
            "data/testdata.yaml: grader_flags: the default grader",
        ),
        (scoring({"data/secret/testdata.yaml": "range: 0 1\ngrading: custom\n"}), "data/secret/testdata.yaml:2: grading: custom graders"),
        (new(yaml="type: submit-answer\n"), "output-only@1"),
        (new(yaml="type: [fun]\n"), "unknown type 'fun'"),
        (new(yaml="type: 3\n"), "type must be"),
        (legacy("problem_format_version: 2023-07-draft\n"), "'2023-07-draft' is not read: legacy, legacy-icpc, 2025-09 are"),
        (new(yaml="validation: custom\n"), "unknown key 'validation'"),
        (new(yaml="constants: {n: 3}\n"), "constants"),
        (legacy("validation: costum\n"), "neither 'default' nor 'custom'"),
        (legacy("validation: custom\n"), "output_validators/: there is no output validator"),
        (new(yaml="type: interactive\n"), "output_validator/: there is no output validator"),
        (new(**{"output_validators/v.py": CHECK}), "output_validators/: in 2025-09 it is called output_validator/"),
        (legacy("validator_flags: float_tolerence 1e-6\n"), "no argument 'float_tolerence'"),
        (legacy("limits: {memory: lots}\n"), "limits.memory: must be a whole number"),
        (legacy("limits: 5\n"), "limits: must be a map"),
        (legacy(**{".timelimit": "soon"}), ".timelimit: 'soon' is no number of seconds"),
        (
            legacy(**{"domjudge-problem.ini": "special_compare = cmp7"}),
            "special_compare names a program that is not in the package",
        ),
        (legacy(**{"data/secret/2.ans": None}), "data/secret/2.in: has no .ans beside it"),
        (legacy(**{name: None for name in legacy() if name.startswith("data/secret")}), "data/secret: there are no tests"),
        (new(**{"data/secret/g/1.in": "", "data/secret/g/1.ans": ""}), "data/secret: holds both tests and groups"),
        (new(**{"data/sample/g/1.in": "", "data/sample/g/1.ans": ""}), "data/sample: must not hold groups"),
        (new(**{"data/secret/1.yaml": "colour: red\n"}), "data/secret/1.yaml: unknown key 'colour'"),
        (new(**{"data/secret/1.yaml": "args: 1.5: x\n"}), "data/secret/1.yaml: not readable YAML"),
        (new(**{"data/secret/1.yaml": "args: {a: [b]}\n"}), "data/secret/1.yaml: args: must be a list of strings"),
        (
            new(**{"data/secret/test_group.yaml": "max_score: 10\n"}),
            "data/secret/test_group.yaml:1: max_score: scoring problems",
        ),
        (new(**{"data/secret/test_group.yaml": "output_validator_args: [[a]]\n"}), "output_validator_args: must be a list of strings"),
        (legacy(**{"data/testdata.yaml": "grading: custom\n"}), "custom graders are not run"),
        (legacy(CUSTOM, **{"output_validators/v/a.py": CHECK, "output_validators/v/b.cpp": ""}), "is written in cpp and python"),
        (legacy(CUSTOM, **{"output_validators/v/a.py": CHECK, "output_validators/v/b.py": ""}), "none called __main__.py or main.py"),
        (legacy("validation: custom interactive\n", **{"output_validators/a.py": CHECK, "output_validators/b.py": CHECK}), "2 validators"),
        (new(**{"static_validator/v.py": CHECK}), "static_validator/: static validators are not run"),
    ],
)
def test_what_would_make_judging_wrong_is_a_fault_with_its_file(faults, files, said):
    assert any(said in fault for fault in faults(files))


def test_every_fault_is_listed_and_not_only_the_first(faults):
    files = legacy("validation: costum\nlimits: {memory: 0}\n", **{"data/secret/1.ans": None, ".timelimit": "x"})

    assert len(faults(files)) == 4


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (legacy("name: Sum\ncolour: red\n"), "problem.yaml:2: unknown key 'colour'"),
        (legacy("name: Sum\nlimits: {speed: 1}\n"), "problem.yaml: limits: unknown key 'speed'"),
        (legacy(**{"problem_statement/problem.tex": None}), "problem_statement/: there is no problem statement"),
        (legacy(**{"input_validators/takes.py": None}), "input_validators/: there is no input validator"),
        (legacy(**{"input_validators/takes.ctd": "INT"}), "input_validators/takes.ctd: is not run"),
        (legacy(**{"input_validators/x/takes.kt": ""}), "is written in no language this runner knows"),
        (legacy(**{"submissions/accepted/a.py": None}), "submissions/accepted/: there is no accepted submission"),
        (legacy(**{"output_validators/v.py": CHECK}), "output_validators/: not used: validation is default"),
        (legacy(CUSTOM, **{"output_validator/v.py": CHECK}), "output_validator/: in legacy it is called output_validators/"),
        (legacy("name: Sum\ntype: multi-pass\n", **{"output_validators/v.py": CHECK}), "multi-pass is of a newer format"),
        (legacy(**{"data/secret/3.ans": "1\n"}), "data/secret/3.ans: belongs to no test"),
        (legacy(**{"data/secret/why": "1\n"}), "data/secret/why: not part of the format"),
        (legacy(**{"data/secret/testdata.yaml": "on_reject: continue\n"}), "on_reject"),
        (legacy(**{"data/secret/testdata.yaml": "range: 0 1\n"}), "range: ignored, the problem is not scoring"),
        (new(**{"data/secret/ü.in": "1\n"}), "not a name of the format"),
        (legacy(**{"extra.bin": "1\n"}), "extra.bin: not part of icpc@1"),
        (new(yaml="version: 1\n"), None),
    ],
)
def test_what_is_odd_is_noted_and_judged(read, files, said):
    notes = read(files).notes

    assert any(said in note for note in notes) if said else notes == (), notes


def test_tests_and_groups_are_taken_together_in_the_order_of_their_names(read):
    names = ["2", "10", "1/b", "1/a", "1-x", "1/sub/z"]
    gone = {f"data/secret/{name}": None for name in ("1.in", "1.ans", "2.in", "2.ans")}
    package = read(legacy(**gone | {f"data/secret/{name}.{kind}": "" for name in names for kind in ("in", "ans")}))

    assert [case.name for case in package.cases][1:] == [f"secret/{name}" for name in ("1/a", "1/b", "1/sub/z", "1-x", "10", "2")]
    assert {case.group for case in package.cases[1:]} == {"secret"}


def test_flags_of_a_legacy_package_come_from_the_problem_and_the_nearest_folder(read):
    package = read(
        legacy(
            "name: Sum\nvalidator_flags: float_tolerance 1e-6\n",
            **{
                "data/testdata.yaml": "output_validator_flags: case_sensitive\n",
                "data/sample/testdata.yaml": 'input_validator_flags: -m "two words"\n',
                "data/secret/testdata.yaml": "output_validator_flags: space_change_sensitive\ninput_validator_flags: -n 5\n",
            },
        )
    )

    assert [case.flags for case in package.cases[:2]] == [
        ("float_tolerance", "1e-6", "case_sensitive"),
        ("float_tolerance", "1e-6", "space_change_sensitive"),
    ]
    assert [case.input_flags for case in package.cases[:2]] == [("-m", "two words"), ("-n", "5")]


def test_settings_of_the_new_format_come_from_the_group_and_the_test(read):
    package = read(
        new(
            **{
                "data/secret/test_group.yaml": "output_validator_args: [float_tolerance, 1e-6]\nargs: [--fast, 3]\n",
                "data/secret/2.yaml": "output_validator_args: [case_sensitive]\ninput_validator_args: {takes: [a]}\nhint: think\n",
                "data/secret/2.files/deep/in.txt": "x",
            }
        )
    )
    sample, first, second = package.cases

    assert (sample.flags, sample.args) == ((), ())
    assert (first.flags, first.args) == (("float_tolerance", "1e-6"), ("--fast", "3"))
    assert (second.flags, second.args) == (("case_sensitive",), ("--fast", "3"))
    assert second.input_flags == {"takes": ("a",)}
    assert list(second.files) == ["deep/in.txt"]


def test_every_file_or_folder_of_output_validators_is_a_program_and_headers_belong_to_all(read):
    package = read(
        legacy(
            CUSTOM,
            **{
                "output_validators/one.cc": "",
                "output_validators/two.py": "",
                "output_validators/validate.h": "",
                "output_validators/three/main.cpp": "",
                "output_validators/three/other.cpp": "",
                "output_validators/four/build": "#!/bin/sh\n",
                "output_validators/README.md": "",
            },
        )
    )
    recipes = {validator.name: validator.recipe for validator in package.validators}

    assert sorted(recipes) == ["four", "one", "three", "two"]
    assert sorted(recipes["one"].files) == ["README.md", "one.cc", "validate.h"]
    assert recipes["three"].sources == ("main.cpp", "other.cpp")
    assert recipes["four"].language.id == "script"


def test_several_sources_in_the_new_folder_are_one_program(read):
    package = read(new(**{"output_validator/a.cpp": "", "output_validator/b.cpp": ""}))

    assert [validator.recipe.sources for validator in package.validators] == [("a.cpp", "b.cpp")]


def packed(files, folder=""):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(folder + name, text)
    buffer.seek(0)
    return buffer


def said_of(package, problem_type):
    looked = look_over(package, problem_type)
    assert looked
    return looked


def test_a_zip_is_looked_over_without_judging_and_its_hidden_time_limit_is_found():
    assert said_of(packed(legacy(), "sum/"), "icpc@1").faults == ()
    assert "stripped the outer folder 'sum'" in said_of(packed(legacy(), "sum/"), "icpc@1").notes
    assert not any("time limit" in note for note in said_of(packed(legacy(), "sum/"), "icpc@1").notes)
    assert said_of(packed({"a": "b"}), "icpc@1").faults == ("problem.yaml: is missing", "data/secret: there are no tests")
    assert said_of(io.BytesIO(b"PK"), "icpc@1").faults[0].startswith("not a zip")
    assert said_of(packed(legacy()), "standard-io@1").faults == ("config.yml is missing",)
    assert look_over(packed(legacy()), "fun@1") is None
