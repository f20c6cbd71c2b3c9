"""Submissions against ICPC packages, by real programs in the real box: default and custom validators, dialogues, passes."""

import json

import pytest

from runners.agent.blob import Blob, holding
from runners.agent.cache import Cache
from runners.agent.details import details, log
from runners.agent.errors import InfrastructureFailure
from runners.agent.icpc.judge import Judge
from runners.agent.icpc.package import read_package
from runners.agent.judgement import Submission
from runners.agent.jury import Bench
from tests.agent.conftest import never
from tests.agent.icpc import ADD, legacy, new, written

pytestmark = pytest.mark.box


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Validators are built once for all tests."""
    return Cache(tmp_path_factory.mktemp("icpc") / "cache").open()


@pytest.fixture
def judge(box, toolchains, cache, tmp_path):
    """`judge(files, source)`: the judgement of a submission by a package of these files."""
    bench = Bench(box, toolchains, cache)

    def judged(files, source, language="python3", name="a.py", config=None):
        package = read_package(written(tmp_path / "package", files))
        blob = Blob.of(source.encode())
        with holding(blob):
            return Judge(box, toolchains, bench, never).judge(package, config or {}, Submission(blob, name, language))

    return judged


def statuses(judgement):
    return [one.status for one in judgement.tests]


def test_an_accepted_submission_is_worth_one(judge):
    judgement = judge(legacy(), ADD)

    assert (judgement.verdict, judgement.score, judgement.max_score) == ("Accepted", 1, 1)
    assert details(judgement)["type"] == "icpc@1"
    assert [(group["group"], group["score"]) for group in details(judgement)["groups"]] == [("sample", 0), ("secret", 1)]


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        ("print(0)", "Wrong answer"),
        ("while True: pass", "Time limit exceeded"),
        ("x = []\nwhile True: x.append(bytearray(1 << 20))", "Memory limit exceeded"),
        ("while True: print('x' * 10000)", "Output limit exceeded"),
        ("exit(3)", "Runtime error"),
        ("print(", "Compilation error"),
    ],
)
def test_every_word(judge, source, verdict):
    config = {"limits": {"timeMs": 300, "memoryBytes": 64 << 20, "outputBytes": 1 << 20}}

    assert judge(legacy(), source, config=config).verdict == verdict


def test_the_first_failing_test_decides_and_the_rest_is_not_run(judge):
    judgement = judge(new(), "a, b = map(int, input().split())\nexit(1) if a == 5 else print(0 if a == 20 else a + b)")

    assert (judgement.verdict, judgement.score) == ("Wrong answer", 0)
    assert statuses(judgement) == ["Accepted", "Wrong answer", "Skipped"]


def test_a_failed_sample_is_the_verdict_too(judge):
    judgement = judge(new(), "a, b = map(int, input().split())\nprint(0 if a == 1 else a + b)")

    assert (judgement.verdict, judgement.score) == ("Wrong answer", 0)
    assert details(judgement)["groups"][1]["status"] == "Skipped"


def test_told_so_by_the_configuration_all_tests_are_run(judge):
    source = "a, b = map(int, input().split())\nexit(1) if a == 5 else print(0 if a == 20 else a + b)"

    assert statuses(judge(new(), source, config={"allTests": True})) == ["Accepted", "Wrong answer", "Runtime error"]


def test_each_test_has_its_own_arguments_flags_and_files(judge):
    files = new(
        **{
            "data/secret/1.yaml": "args: [--add, 'a b']\noutput_validator_args: [float_tolerance, 0.1]\n",
            "data/secret/1.ans": "42.05\n",
            "data/secret/2.files/deep/n": "10",
        }
    )
    source = """import os, sys
if os.path.exists('deep/n'): print(open('deep/n').read())
else: print(sum(map(int, input().split())) if sys.argv[1:] in ([], ['--add', 'a b']) else sys.argv)"""

    assert judge(files, source).verdict == "Accepted"


@pytest.mark.slow
def test_what_is_included_is_compiled_along_and_may_be_what_is_started(judge):
    driver = "#include <iostream>\nint add(int, int);\nint main() { int a, b; std::cin >> a >> b; std::cout << add(a, b); }\n"
    main = "from a import add\nprint(add(*map(int, input().split())))\n"
    files = legacy(**{"include/cpp/driver.cpp": driver, "include/python3/main.py": main})

    assert judge(files, "int add(int a, int b) { return a + b; }", "cpp17", "mine.cpp").verdict == "Accepted"
    assert judge(files, "def add(a, b): return a + b").verdict == "Accepted"


def test_a_language_the_problem_excludes_is_a_verdict(judge):
    assert judge(new(yaml="languages: [cpp]\n"), ADD).verdict == "PolicyViolation"


CUSTOM = "name: Sum\nvalidation: custom\nvalidator_flags: by 1\n"
# By what the submission says: another number of itself decides how the validator ends.
CHECK = """import os, signal, sys, time
given, answer, feedback, *flags = sys.argv[1:]
assert flags == ['by', '1'] and feedback.endswith('/')
said, wanted = sys.stdin.read().split(), open(answer).read().split()
open(given).read()
open(feedback + 'judgemessage.txt', 'w').write(f'said {said}\\nwanted {wanted}\\n')
if said[:1] == ['exit']: sys.exit(int(said[1]))
if said == ['crash']: os.kill(os.getpid(), signal.SIGSEGV)
if said == ['raise']: raise ValueError
if said == ['sleep']: time.sleep(60)
if said == ['loop']:
    while True: pass
if said == ['link']: os.symlink('/etc/passwd', feedback + 'x')
sys.exit(42 if abs(int(said[0]) - int(wanted[0])) <= 1 else 43)
"""
CHECKED = legacy(CUSTOM, **{"output_validators/check.py": CHECK})


def test_a_custom_validator_decides_and_what_it_says_is_for_the_jury_only(judge):
    near = judge(CHECKED, "print(sum(map(int, input().split())) + 1)")
    far = judge(CHECKED, "print(9)")

    assert (near.verdict, far.verdict) == ("Accepted", "Wrong answer")
    assert far.tests[0].reason == "refused by the output validator"
    assert "said ['9'] | wanted ['3']" in log(far, ())
    assert "wanted" not in json.dumps(details(far))


@pytest.mark.parametrize("said", ["exit 0", "exit 1", "exit 41", "exit 44", "crash", "raise", "sleep", "loop", "link"])
def test_a_validator_that_fails_is_never_a_participants_verdict(judge, monkeypatch, said):
    monkeypatch.setattr("runners.agent.icpc.limits.VALIDATION_MS", 300)
    if said == "sleep":
        monkeypatch.setattr("runners.agent.box.run.WALL_MS", 300)
    with pytest.raises(InfrastructureFailure, match="output validator check") as caught:
        judge(CHECKED, f"print('{said}')")
    if said.startswith("exit"):
        assert f"ended with {said.split()[1]}, which is no judgement; said" in str(caught.value)


@pytest.mark.slow
def test_all_of_several_validators_must_accept(judge):
    odd = "import sys\nsys.exit(42 if int(sys.stdin.read()) % 2 else 43)\n"
    small = "import sys\nsys.exit(42 if int(sys.stdin.read()) < 50 else 43)\n"
    files = legacy("name: Sum\nvalidation: custom\n", **{"output_validators/odd.py": odd, "output_validators/small/check.py": small})

    assert [judge(files, f"print({said})").verdict for said in (7, 8, 51)] == ["Accepted", "Wrong answer", "Wrong answer"]


@pytest.mark.slow
def test_a_validator_may_bring_its_own_build_script(judge):
    build = "#!/bin/sh -e\ng++ -O1 -o checker parts/check.cc\nprintf '#!/bin/sh\\nexec ./checker \"$@\"\\n' > run\nchmod +x run\n"
    code = "#include <iostream>\nint main(int c, char **v) { int n; std::cin >> n; return c == 4 && n == 7 ? 42 : 43; }\n"
    files = new(**{"output_validator/v/build": build, "output_validator/v/parts/check.cc": code})

    assert [judge(files, f"print({said})").verdict for said in (7, 8)] == ["Accepted", "Wrong answer"]
    with pytest.raises(InfrastructureFailure, match="does not compile"):
        judge(new(**{"output_validator/v/build": "#!/bin/sh\nfalse\n"}), "print(7)")


def test_a_validator_of_several_cpp_files_is_compiled_together(judge):
    files = new(
        **{
            "output_validator/v/main.cpp": '#include "verdict.h"\nint main() { return verdict(); }\n',
            "output_validator/v/verdict.h": "int verdict();\n",
            "output_validator/v/verdict.cpp": '#include "verdict.h"\n#include <cmath>\nint verdict() { return std::floor(42.5); }\n',
        }
    )
    assert judge(files, "print(7)").verdict == "Accepted"


INTERACTIVE = "problem_format_version: legacy\nname: Guess\nvalidation: custom interactive\n"
GUESS = """import sys
secret = int(open(sys.argv[1]).read().split()[0])
for _ in range(10):
    line = sys.stdin.readline()
    if not line: sys.exit(43)
    guess = int(line)
    if guess == 500: sys.exit(0)
    if guess == 501: sys.exit(1)
    if guess == 600:
        for _ in range(100): print('x' * 9999, flush=True)
        sys.exit(42 if sys.stdin.readline() == '' else 43)
    print('<' if secret < guess else '>' if secret > guess else '=', flush=True)
    if guess == secret: sys.exit(42)
sys.exit(43)
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
GUESSED = legacy(INTERACTIVE, **{"output_validators/guess.py": GUESS})
QUICK = {"limits": {"timeMs": 300, "memoryBytes": 64 << 20}}
MANY = "for n in range(10): print(99, flush=True); input()\n"


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        (BISECT, "Accepted"),
        (MANY + "input()", "Wrong answer"),
        (MANY + "while True: pass", "Wrong answer"),
        (MANY + "import time; time.sleep(1)\nwhile True: print(1, flush=True)", "Wrong answer"),
        ("pass", "Wrong answer"),
        ("print(50, flush=True); input(); exit(1)", "Runtime error"),
        ("print(50, flush=True)\nwhile True: pass", "Time limit exceeded"),
        ("input()", "Time limit exceeded"),
        (BISECT + "exit(4)", "Runtime error"),
        (BISECT + "while True: pass", "Time limit exceeded"),
        (BISECT + "import os, signal; os.kill(os.getpid(), signal.SIGPIPE)", "Accepted"),
        ("print(600, flush=True)", "Accepted"),
        ("import os; print(600, flush=True); os.close(0); import time; time.sleep(.2)", "Accepted"),
    ],
    ids=[
        *("right", "rejected first, then a crash", "rejected first, then a loop", "rejected first, then writes on"),
        *("leaves at once", "crashes first", "loops first", "both wait", "crashes after acceptance", "loops after acceptance"),
        *("a broken pipe is no crash", "leaves a validator that writes on", "does not read any more"),
    ],
)
def test_a_dialogue_is_decided_as_the_format_says(judge, monkeypatch, source, verdict):
    if source == "input()":
        monkeypatch.setattr("runners.agent.box.run.WALL_MS", 500)

    assert judge(GUESSED, source, config=QUICK).verdict == verdict


@pytest.mark.parametrize("guess", [500, 501])
def test_a_validator_that_fails_in_a_dialogue_is_the_jurys_fault_whatever_the_submission_does(judge, guess):
    for rest in ("input()", "while True: pass"):
        with pytest.raises(InfrastructureFailure, match=f"output validator guess ended with {guess - 500}"):
            judge(GUESSED, f"print({guess}, flush=True)\n{rest}", config=QUICK)


PASSES = """import os, sys
given, answer, feedback = sys.argv[1:4]
said, count = sys.stdin.read().split(), int(open(given).read().split()[0])
log = open(feedback + 'judgemessage.txt', 'a')
print('pass with', count, file=log)
if said == ['both']: open(feedback + 'nextpass.in', 'w').write('1'); sys.exit(43)
if said == ['ever']: open(feedback + 'nextpass.in', 'w').write('7'); sys.exit(42)
if said != [str(count - 1)]: sys.exit(43)
if count > 1: open(feedback + 'nextpass.in', 'w').write(said[0])
sys.exit(42)
"""
COUNTED = new(
    **dict.fromkeys(("data/sample/1.in", "data/sample/1.ans", "data/secret/2.in", "data/secret/2.ans")),
    **{"data/secret/1.in": "3\n", "output_validator/passes.py": PASSES},
)
COUNTED["problem.yaml"] = COUNTED["problem.yaml"].replace("{time_limit: 1}", "{time_limit: 1, validation_passes: 3}") + "type: multi-pass\n"


def test_another_pass_follows_while_the_validator_asks_for_it_and_feedback_stays(judge):
    judgement = judge(COUNTED, "print(int(input()) - 1)")

    assert judgement.verdict == "Accepted"
    assert "pass with 3 | pass with 2 | pass with 1" in judgement.tests[0].log


def test_a_pass_that_fails_is_the_tests_verdict(judge):
    assert judge(COUNTED, "n = int(input())\nprint(n - 1 if n > 1 else 5)").verdict == "Wrong answer"
    assert judge(COUNTED, "n = int(input())\nexit(1) if n == 2 else print(n - 1)").verdict == "Runtime error"


@pytest.mark.slow
def test_each_pass_has_the_whole_time_and_the_costliest_counts(judge):
    code = "import time\nn = int(input())\nwhile time.process_time() < .2: pass\nprint(n - 1)"
    judgement = judge(COUNTED, code)

    assert judgement.verdict == "Accepted"
    assert 200 <= judgement.tests[0].time_ms < 500


@pytest.mark.parametrize(("said", "why"), [("both", "rejected and asked for another pass"), ("ever", "more than 3 passes")])
def test_a_validator_that_asks_wrongly_is_the_jurys_fault(judge, said, why):
    with pytest.raises(InfrastructureFailure, match=why):
        judge(COUNTED, f"print('{said}')")


TALKS = """import sys
count = int(open(sys.argv[1]).read())
print(count, flush=True)
if sys.stdin.readline().strip() != str(count - 1): sys.exit(43)
if count > 1: open(sys.argv[3] + 'nextpass.in', 'w').write(str(count - 1))
sys.exit(42)
"""


@pytest.mark.slow
def test_a_problem_may_be_both_interactive_and_multi_pass(judge):
    files = COUNTED | {"output_validator/passes.py": TALKS}
    files["problem.yaml"] = files["problem.yaml"].replace("type: multi-pass", "type: [interactive, multi-pass]")

    assert judge(files, "print(int(input()) - 1)").verdict == "Accepted"
    assert judge(files, "n = int(input())\nprint(n - 1 if n > 1 else 5)").verdict == "Wrong answer"


@pytest.mark.slow
def test_descriptors_do_not_leak(judge):
    from pathlib import Path

    def open_now():
        return len(list(Path("/proc/self/fd").iterdir()))

    judge(COUNTED, "print(int(input()) - 1)")
    before = open_now()
    judge(COUNTED, "print(int(input()) - 1)")
    judge(COUNTED, "print(9)")
    judge(GUESSED, BISECT)
    for files, source in ((COUNTED, "print('ever')"), (CHECKED, "print('exit 0')"), (CHECKED, "print('link')")):
        with pytest.raises(InfrastructureFailure):
            judge(files, source)

    assert open_now() == before
