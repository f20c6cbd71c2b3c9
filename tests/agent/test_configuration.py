"""`config.yml`, the job's configuration over it, and what is said when they are wrong (runner-agent §2)."""

import pytest

from runners.agent.errors import Invalid
from runners.agent.overlay import overlay
from runners.agent.standard_io.package import read_package
from tests.agent.conftest import PLAIN, SUM

GROUPS = "groups:\n- {group: 1, points: 40, examples: true}\n- {group: 2, points: 60, limits: {timeMs: 3000}}\n"
TWO = {"1a": ("", ""), "2a": ("", ""), "2b": ("", "")}
FULL = f"""type: standard-io@1
limits: {{timeMs: 1000, memoryBytes: 67108864}}
overrideLimits: {{python: {{timeMs: 5000}}, python3: {{memoryBytes: 134217728}}}}
languages: [cpp, python3]
{GROUPS}"""


def faults(root, over=None):
    with pytest.raises(Invalid) as caught:
        read_package(root).configured(over or {})
    return caught.value.faults


def test_an_overlay_merges_objects_and_replaces_scalars_and_lists():
    base = {"limits": {"timeMs": 1, "memoryBytes": 2}, "languages": ["c", "cpp"], "x": 1}

    assert overlay(base, {"limits": {"timeMs": 9}, "languages": ["java"]}) == {
        "limits": {"timeMs": 9, "memoryBytes": 2},
        "languages": ["java"],
        "x": 1,
    }


def test_an_overlay_merges_groups_by_their_number_and_keeps_their_order():
    base = {"groups": [{"group": 1, "points": 10}, {"group": 2, "points": 20, "limits": {"timeMs": 5}}]}

    merged = overlay(base, {"groups": [{"group": 2, "points": 90}, {"group": 3, "points": 1}]})

    assert merged["groups"] == [{"group": 1, "points": 10}, {"group": 2, "points": 90, "limits": {"timeMs": 5}}, {"group": 3, "points": 1}]


def test_an_overlay_cannot_change_the_type():
    assert overlay({"type": "standard-io@1"}, {"type": "other@9"}) == {"type": "standard-io@1"}


def test_a_package_is_read_with_its_tests_in_order(package):
    tests = dict.fromkeys(("10a", "2b", "2a", "2aa", "02c"), ("", ""))
    root = package("limits: {timeMs: 1, memoryBytes: 1048576}\ngroups: [{group: 2, points: 1}, {group: 10, points: 1}]", tests)

    assert [test.name for test in read_package(root).tests] == ["2a", "2b", "02c", "2aa", "10a"]


def test_limits_come_from_the_package_then_the_group_then_the_language(package):
    config = read_package(package(FULL, TWO)).config
    first, second = config.groups

    assert config.limits_for(first, family="cpp", language="cpp17").time_ms == 1000
    assert config.limits_for(second, family="cpp", language="cpp17").time_ms == 3000
    assert config.limits_for(second, family="python", language="python3").time_ms == 5000
    assert config.limits_for(second, family="python", language="python3").memory_bytes == 134217728


def test_a_language_is_allowed_by_its_id_or_its_family(package):
    config = read_package(package(FULL, TWO)).config

    assert config.allowance.allows(family="cpp", language="cpp20")
    assert config.allowance.allows(family="python", language="python3")
    assert not config.allowance.allows(family="java", language="java")
    assert read_package(package(PLAIN, SUM)).config.allowance.allows(family="x", language="y")


def test_every_fault_is_listed_at_once(package):
    config = """type: other@1
limits: {timeMs: 0, memoryBytes: "much", speed: 1}
colour: red
languages: cpp
groups: [{group: 1}, {group: 1, points: -1}, {group: 7, points: 5}]
checker: {source: check.cpp}
"""
    said = " | ".join(faults(package(config, {"1a": ("", ""), "3a": ("", "")})))

    for wanted in (
        "config.type: must be 'standard-io@1'",
        "config.limits.timeMs",
        "config.limits.memoryBytes",
        "config.limits: unknown key 'speed'",
        "config: unknown key 'colour'",
        "config.languages: must be a list",
        "config.groups[0]: 'points' is missing",
        "config.groups[1].points",
        "group 1 occurs twice",
        "group 7 has no tests",
        "group 3 is missing",
        "config.checker: 'language' is missing",
        "checker/check.cpp is no file",
    ):
        assert wanted in said


@pytest.mark.parametrize(
    ("over", "named"),
    [
        ({"colour": 1}, "unknown key 'colour'"),
        ({"limits": {"speed": 1}}, "unknown key 'speed'"),
        ({"groups": [{"group": 9, "points": 1}]}, "group 9 has no tests"),
        ({"limits": None}, "config.limits"),
        ({"limits": {"timeMs": True}}, "config.limits.timeMs"),
        ({"groups": [{"group": 1, "points": float("nan")}]}, "points"),
    ],
)
def test_a_job_whose_configuration_is_wrong_is_refused_naming_the_key(package, over, named):
    assert named in " | ".join(faults(package(FULL, TWO), over))


def test_what_the_job_says_is_obeyed(package):
    config = read_package(package(FULL, TWO)).configured({"type": "x", "limits": {"timeMs": 7}, "languages": ["java"]})

    assert config.allowance.limits.time_ms == 7
    assert config.allowance.limits.memory_bytes == 67108864
    assert config.allowance.languages == ("java",)


@pytest.mark.parametrize("text", ["a: [", "a: &x [1]\nb: *x", "limits: {timeMs: 1, timeMs: 2}", "\x00", "[" * 5000, "- 1", ""])
def test_a_config_that_is_no_plain_yaml_object_is_refused_without_a_crash(package, text):
    assert faults(package(text, SUM))


def test_an_answer_may_only_be_missing_when_a_program_of_the_jury_decides(package):
    missing = {"1a": ("1", None)}
    assert any("has no .out" in fault for fault in faults(package(PLAIN, missing)))

    checked = PLAIN + "interactor: {source: interactor/i.py, language: python3}\n"
    assert read_package(package(checked, missing, {"interactor/i.py": ""})).tests[0].answer is None


def test_a_checker_and_an_interactor_together_are_refused(package):
    both = PLAIN + "checker: {source: c.py, language: python3}\ninteractor: {source: i.py, language: python3}\n"
    assert any("both" in fault for fault in faults(package(both, SUM, {"checker/c.py": "", "interactor/i.py": ""})))


def test_a_checker_outside_its_folder_is_refused(package):
    config = PLAIN + "checker: {source: ../tests/1a.in, language: python3}\n"
    assert any("is no file of the package" in fault for fault in faults(package(config, SUM, {"checker/x": ""})))


def test_a_file_among_the_tests_that_is_none_is_named(package):
    assert any("tests/readme.txt" in fault for fault in faults(package(PLAIN, SUM, {"tests/readme.txt": ""})))


def test_other_files_are_ignored_with_a_note(package):
    assert any("solution" in note for note in read_package(package(PLAIN, SUM, {"solution/a.cpp": ""})).notes)
