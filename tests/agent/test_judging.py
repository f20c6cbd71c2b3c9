"""Whole submissions against whole packages: every verdict word, by real programs in the real box (runner-agent §2)."""

import json
import time

import pytest

from runners.agent.details import details, log
from runners.agent.errors import InfrastructureFailure, Interrupted
from runners.agent.verdicts import Verdict
from tests.agent.conftest import PLAIN, SUM

pytestmark = pytest.mark.box
LIMITS = "limits: {timeMs: 500, memoryBytes: 67108864, outputBytes: 1000000}\n"
GROUPS = LIMITS + "groups:\n- {group: 1, points: 40, examples: true}\n- {group: 2, points: 60}\n"
TWO = SUM | {"2a": ("5 5\n", "10\n")}

CPP = {
    Verdict.ACCEPTED: "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b; }",
    Verdict.WRONG_ANSWER: "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a - b; }",
    Verdict.TIME_LIMIT: "int main() { for (volatile int i = 0;; i = i + 1); }",
    Verdict.MEMORY_LIMIT: "#include <cstdlib>\n#include <cstring>\nint main() { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }",
    Verdict.OUTPUT_LIMIT: '#include <cstdio>\nint main() { for (;;) puts("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"); }',
    Verdict.RUNTIME_ERROR: "int main() { return 3; }",
    Verdict.COMPILATION_ERROR: "int main() { return }",
}
PYTHON = {
    Verdict.ACCEPTED: "print(sum(map(int, input().split())))",
    Verdict.WRONG_ANSWER: "print(0)",
    Verdict.TIME_LIMIT: "while True: pass",
    Verdict.MEMORY_LIMIT: "x = []\nwhile True: x.append(bytearray(1 << 20))",
    Verdict.OUTPUT_LIMIT: "while True: print('x' * 10000)",
    Verdict.RUNTIME_ERROR: "print(1 // 0)",
    Verdict.COMPILATION_ERROR: "print(",
}
JAVA = """public class Sum {
    public static void main(String[] a) {
        var in = new java.util.Scanner(System.in);
        System.out.println(in.nextInt() + in.nextInt());
    }
}"""


@pytest.mark.parametrize("verdict", CPP)
def test_every_word_in_cpp(package, judge, verdict):
    judgement = judge(package(GROUPS, SUM | {"2a": ("5 5\n", "10\n")}), "cpp", "a.cpp", CPP[verdict])

    assert judgement.verdict == verdict
    assert judgement.score == (100 if verdict is Verdict.ACCEPTED else 0)


@pytest.mark.parametrize("verdict", PYTHON)
def test_every_word_in_python(package, judge, verdict):
    assert judge(package(LIMITS + "groups: [{group: 1, points: 1}]"), "python3", "a.py", PYTHON[verdict]).verdict == verdict


def test_java_is_judged(package, judge):
    judgement = judge(package(PLAIN.replace("67108864", "268435456")), "java", "Sum.java", JAVA)

    assert (judgement.verdict, judgement.score) == ("Accepted", 100)


def test_an_idle_program_is_over_time_and_the_reason_says_idle(package, judge, monkeypatch):
    monkeypatch.setattr("runners.agent.box.run.WALL_MS", 0)
    root = package("limits: {timeMs: 200, memoryBytes: 67108864}\ngroups: [{group: 1, points: 1}]")
    judgement = judge(root, "python3", "a.py", "import time; time.sleep(60)")

    assert judgement.verdict == "Time limit exceeded"
    assert judgement.tests[0].reason.startswith("idle")


def test_a_failed_test_costs_its_group_and_the_rest_of_it_is_skipped(package, judge):
    source = "a, b = map(int, input().split())\nprint(0 if a == 1 else a + b)"
    judgement = judge(package(GROUPS, TWO), "python3", "a.py", source)

    assert (judgement.verdict, judgement.score, judgement.max_score) == ("Wrong answer", 60, 100)
    assert [one.status for one in judgement.tests] == ["Wrong answer", "Skipped", "Accepted"]


def test_the_details_tell_all_but_the_answer(package, judge):
    root = package(GROUPS, {"1a": ("1 2\n", "314159265\n"), "2a": ("1 1\n", "271828182\n")})
    judgement = judge(root, "python3", "a.py", "print(7)")
    document = details(judgement)

    assert "314159265" not in json.dumps(document)
    assert "271828182" not in json.dumps(document)
    assert document["type"] == "standard-io@1"
    assert document["limits"] == {"timeMs": 500, "memoryBytes": 67108864, "outputBytes": 1000000}
    assert (document["score"], document["maxScore"]) == (0, 100)
    assert document["compilation"]["status"] == "ok"
    assert document["groups"][0] == {"group": 1, "status": "Wrong answer", "score": 0, "maxScore": 40, "examples": True}
    assert set(document["tests"][0]) == {"no", "group", "status", "timeMs", "memoryBytes", "score", "maxScore", "note", "reason"}


def test_a_language_the_assignment_excludes_is_a_verdict(package, judge):
    judgement = judge(package(), "python3", "a.py", "print(1)", {"languages": ["cpp"]})

    assert judgement.verdict == "PolicyViolation"
    assert judgement.tests == ()


def test_an_unknown_language_is_nobodys_verdict(package, judge):
    with pytest.raises(InfrastructureFailure, match="unknown language 'cobol'"):
        judge(package(), "cobol", "a.cob", "")


@pytest.mark.parametrize("name", ["a.py", "a.txt", "a"])
def test_an_extension_the_toolchain_does_not_take_is_a_compilation_error(package, judge, name):
    assert judge(package(), "cpp", name, CPP[Verdict.ACCEPTED]).verdict == "Compilation error"


@pytest.mark.parametrize("name", ["решение.py", "a b.py", "-c.py", "../../evil.py", "x" * 300 + ".py", "", "a\nb.py", "main.PY"])
def test_any_file_name_is_lived_with(package, judge, name):
    assert judge(package(), "python3", name, PYTHON[Verdict.ACCEPTED]).verdict == "Accepted"


def test_bytes_that_are_no_text_reach_the_compiler_as_they_are(package, judge):
    source = b"// \xc4\xe3\n" + CPP[Verdict.ACCEPTED].encode()
    assert judge(package(), "cpp", "a.cpp", source).verdict == "Accepted"

    refused = judge(package(), "cpp", "a.cpp", b"\xff\x00\xfe int x;\x00")
    assert refused.verdict == "Compilation error"
    assert "\0" not in refused.compiler_log


@pytest.mark.parametrize(
    "source",
    [
        '#include "/etc/shadow"\nint main() {}',
        '#include "/dev/random"\nint main() {}',
        "template <int N> struct A { A<N + 1> a; }; A<0> a; int main() {}",
    ],
)
def test_a_source_that_attacks_the_compiler_is_a_compilation_error(package, judge, monkeypatch, source):
    from dataclasses import replace

    from runners.agent import programs

    monkeypatch.setattr(programs, "COMPILE", replace(programs.COMPILE, cpu_ms=4000, memory_bytes=256 << 20))
    judgement = judge(package(), "cpp", "a.cpp", source)

    assert judgement.verdict == "Compilation error"
    assert "root:" not in judgement.compiler_log
    assert len(judgement.compiler_log) <= 65536 + 100


def test_an_enormous_array_is_over_memory_once_it_is_touched(package, judge):
    source = "static volatile char a[1u << 30]; int main() { for (unsigned long i = 0; i < sizeof a; i += 4096) a[i] = 1; }"
    assert judge(package(), "cpp", "a.cpp", source).verdict == "Memory limit exceeded"


def test_a_judging_that_is_cancelled_between_tests_gives_no_verdict(package, judge):
    calls = iter([False] * 20 + [True] * 1000)
    with pytest.raises(Interrupted):
        judge(
            package(PLAIN, {f"1{letter}": ("1 2", "3") for letter in "abcdefgh"}),
            "python3",
            "a.py",
            "import time; time.sleep(.3)\nprint(3)",
            cancelled=lambda: next(calls),
        )


CHECKER = """#include <cstdio>
#include <cstring>
int main(int argc, char **argv) {
    FILE *out = std::fopen(argv[2], "r"), *ans = std::fopen(argv[3], "r"), *in = std::fopen(argv[1], "r");
    double x, want; int a;
    if (argc != 4 || !in || std::fscanf(in, "%d", &a) != 1 || std::fscanf(ans, "%lf", &want) != 1) return 3;
    if (std::fscanf(out, "%lf", &x) != 1) { std::fprintf(stderr, "no number, expected %g\\n", want); return 2; }
    if (x == 99) return 1;
    if (x == 50) { std::fprintf(stderr, "points 0.5 half of it\\n"); return 7; }
    if (x == 66) return 0x42;
    if (x == 11) { int *p = 0; *p = 1; }
    if (x == 77) for (;;);
    double d = x - want;
    return d < 1e-6 && d > -1e-6 ? 0 : 1;
}
"""
CHECKED = PLAIN + "checker: {source: check.cpp, language: cpp}\n"


@pytest.fixture
def checked(package):
    return package(CHECKED, {"1a": ("1", "3.0"), "1b": ("2", "3.0")}, {"checker/check.cpp": CHECKER})


@pytest.mark.parametrize(
    ("output", "verdict", "score"),
    [("3.0000001", "Accepted", 100), ("4", "Wrong answer", 0), ("words", "Wrong answer", 0), ("50", "Partial", 50)],
)
def test_a_checker_decides(checked, judge, output, verdict, score):
    judgement = judge(checked, "python3", "a.py", f"print('{output}')")

    assert (judgement.verdict, judgement.score) == (verdict, score)


@pytest.mark.parametrize("output", ["66", "11"])
def test_a_checker_that_fails_is_never_a_participants_verdict(checked, judge, output):
    with pytest.raises(InfrastructureFailure, match="checker"):
        judge(checked, "python3", "a.py", f"print({output})")


def test_a_checker_that_never_ends_is_never_a_participants_verdict(checked, judge, monkeypatch):
    from dataclasses import replace

    from runners.agent import jury

    monkeypatch.setattr("runners.agent.trial.LIMITS", replace(jury.LIMITS, cpu_ms=300))
    with pytest.raises(InfrastructureFailure, match="stopped: cpu"):
        judge(checked, "python3", "a.py", "print(77)")


def test_what_a_checker_says_is_for_the_jury_only(checked, judge):
    judgement = judge(checked, "python3", "a.py", "print('words')")

    assert "expected 3" in log(judgement, ())
    assert "expected 3" not in json.dumps(details(judgement))


def test_a_python_checker_that_crashes_did_not_refuse_anything(package, judge):
    config = PLAIN + "checker: {source: checker/c.py, language: python3}\n"
    root = package(
        config, SUM, {"checker/c.py": "import sys, lib\nsys.exit(lib.decide(sys.argv))", "checker/lib.py": "def decide(a): return 1 // 0"}
    )
    with pytest.raises(InfrastructureFailure, match="checker"):
        judge(root, "python3", "a.py", "print(3)")


def test_a_checker_that_does_not_compile_is_an_infrastructure_failure(package, judge):
    root = package(CHECKED, SUM, {"checker/check.cpp": "int main( {"})
    with pytest.raises(InfrastructureFailure, match="does not compile"):
        judge(root, "python3", "a.py", "print(3)")


def test_a_checker_is_built_once(checked, judge):
    began = time.monotonic()
    judge(checked, "python3", "a.py", "print(3)")
    first, began = time.monotonic() - began, time.monotonic()
    judge(checked, "python3", "a.py", "print(3)")

    assert time.monotonic() - began < first


INTERACTOR = """import sys
secret = int(open(sys.argv[1]).read())
for _ in range(10):
    line = sys.stdin.readline()
    if not line:
        print('no guess', file=sys.stderr); sys.exit(1)
    guess = int(line)
    if guess == 999: sys.exit(5)
    print('<' if secret < guess else '>' if secret > guess else '=', flush=True)
    if guess == secret: sys.exit(0)
print('too many guesses', file=sys.stderr)
sys.exit(1)
"""
BISECT = """low, high = 1, 100
while True:
    middle = (low + high) // 2
    print(middle, flush=True)
    said = input()
    if said == '=': break
    if said == '<': high = middle - 1
    else: low = middle + 1
"""


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        (BISECT, "Accepted"),
        ("for n in range(1, 101):\n  print(n, flush=True)\n  if input() == '=': break", "Wrong answer"),
        ("pass", "Wrong answer"),
        ("print(50, flush=True); input(); raise SystemExit(1)", "Runtime error"),
        ("print(50, flush=True)\nwhile True: pass", "Time limit exceeded"),
        (BISECT + "raise SystemExit(4)", "Runtime error"),
        ("import time; time.sleep(60)", "Time limit exceeded"),
    ],
    ids=["right", "too many guesses", "leaves at once", "crashes", "loops", "crashes after acceptance", "waits for ever"],
)
def test_a_dialogue_is_decided_by_who_ended_first(package, judge, monkeypatch, source, verdict):
    monkeypatch.setattr("runners.agent.box.run.WALL_MS", 500)
    config = (
        "limits: {timeMs: 300, memoryBytes: 67108864}\ngroups: [{group: 1, points: 10}]\ninteractor: {source: i.py, language: python3}\n"
    )
    root = package(config, {"1a": ("77", None)}, {"interactor/i.py": INTERACTOR})

    assert judge(root, "python3", "a.py", source).verdict == verdict


# Says much more than a pipe holds, then hears what its partner has to say.
TALKER = """import sys
for _ in range(8): print('x' * 20000, flush=True)
sys.exit(0 if sys.stdin.readline() == 'done\\n' else 1)
"""
ENDLESS = '#include <cstdio>\nint main() { int x; do { puts("?"); fflush(stdout); } while (scanf("%d", &x) != 1 || x != 77); }\n'


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        ("import sys; sys.stdin.read(160008); print('done')", "Accepted"),
        ("print('done', flush=True)\nimport os, time; os.close(0); time.sleep(.2)", "Accepted"),
        ("print('done')", "Accepted"),
        ("pass", "Wrong answer"),
        ("import os, time; os.close(0); os.close(1); time.sleep(.2)", "Wrong answer"),
        ("import os; os.close(0); raise SystemExit(3)", "Runtime error"),
    ],
    ids=["listens", "closes its ears", "leaves at once, but right", "leaves at once", "closes both", "crashes"],
)
def test_a_participant_that_does_not_listen_cannot_break_the_interactor(package, judge, source, verdict):
    config = PLAIN + "interactor: {source: i.py, language: python3}\n"
    root = package(config, {"1a": ("77", None)}, {"interactor/i.py": TALKER})

    assert judge(root, "python3", "a.py", source).verdict == verdict


def test_an_interactor_that_never_notices_that_nobody_is_left_is_ended_and_the_participant_left_too_early(package, judge):
    config = PLAIN + "interactor: {source: i.cpp, language: cpp}\n"
    root = package(config, {"1a": ("77", None)}, {"interactor/i.cpp": ENDLESS})

    assert judge(root, "python3", "a.py", "pass").verdict == "Wrong answer"


def test_an_interactor_that_fails_is_never_a_participants_verdict(package, judge):
    config = PLAIN + "interactor: {source: i.py, language: python3}\n"
    root = package(config, {"1a": ("77", None)}, {"interactor/i.py": INTERACTOR})
    with pytest.raises(InfrastructureFailure, match="interactor ended with 5"):
        judge(root, "python3", "a.py", "print(999, flush=True); input()")
