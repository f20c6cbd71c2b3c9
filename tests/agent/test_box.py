"""Programs that mean harm, and what the box does about each (runner-agent §3).

After every test the `box` fixture proves that no control group and no process is left.
"""

import os
import signal
import socket
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from runners.agent.blob import Blob
from runners.agent.box import Command, Ended, Limits
from runners.agent.box.artefacts import BadArtefact
from runners.agent.box.limits import core_bytes
from runners.agent.errors import Interrupted
from tests.agent.conftest import Ran, never, ran

pytestmark = pytest.mark.box
GCC = ("/usr/bin/gcc", "-O1", "-o", "main", "./main.c")


@pytest.fixture
def run_c(box):
    """`run_c(source)`: a C program compiled and run in the box."""

    def compiled(source, **how):
        code = Blob.of(source.encode())
        built = ran(
            box, GCC, cpu_ms=20_000, memory=1 << 30, output=64 << 20, files={"main.c": code}, environ={"PATH": "/usr/bin"}, keep="main"
        )
        assert built.status == 0, built.errors
        program = Blob.of(built.kept["main"])
        try:
            return ran(box, ("./main",), files={"main": program}, **how)
        finally:
            code.close()
            program.close()

    return compiled


def test_a_program_reads_its_input_and_its_output_is_taken(run):
    outcome = run("print(input()[::-1]); raise SystemExit(3)", stdin=b"hello\n")

    assert (outcome.text, outcome.status, outcome.ended) == ("olleh\n", 3, Ended.EXITED)


def test_a_death_by_signal_is_told_as_a_shell_tells_it(run):
    assert run("import os; os.kill(os.getpid(), 11)").status == 128 + signal.SIGSEGV


def test_a_busy_loop_is_stopped_soon_after_its_limit(run):
    outcome = run("while True: pass", cpu_ms=300)

    assert outcome.ended is Ended.CPU
    assert 300 < outcome.cpu_ms < 450


def test_cpu_time_of_all_threads_and_children_counts(run):
    code = "import os\nfor _ in range(3):\n  if not os.fork(): break\nwhile True: pass"
    outcome = run(code, cpu_ms=300)

    assert outcome.ended is Ended.CPU
    assert outcome.wall_ms < 2000


def test_the_cpu_time_of_a_child_whose_death_is_ignored_counts(run):
    code = """import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if not os.fork():
    began = time.process_time()
    while time.process_time() - began < .25: pass
    os._exit(0)
try: os.wait()
except ChildProcessError: print("innocent", os.times().children_user)"""
    outcome = run(code, cpu_ms=2000)

    assert outcome.text == "innocent 0.0\n"
    assert outcome.cpu_ms >= 250


def test_a_sleeper_is_stopped_by_the_wall_and_called_idle(run, monkeypatch):
    monkeypatch.setattr("runners.agent.box.run.WALL_MS", 300)
    outcome = run("import time; time.sleep(60)", cpu_ms=100)

    assert outcome.ended is Ended.IDLE
    assert outcome.cpu_ms < 100
    assert 600 <= outcome.wall_ms < 2000


def test_a_program_that_ignores_all_signals_ends_all_the_same(run):
    code = """import signal
for n in range(1, 65):
    try: signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: pass"""
    assert run(code, cpu_ms=200).ended is Ended.CPU


def test_a_memory_bomb_is_killed_for_memory(run):
    outcome = run("x = []\nwhile True: x.append(bytearray(1 << 20))")

    assert outcome.ended is Ended.MEMORY


def test_a_memory_bomb_in_a_child_ends_the_whole_run(run):
    code = """import os, time
if not os.fork():
    x = []
    while True: x.append(bytearray(1 << 20))
time.sleep(60)"""
    outcome = run(code)

    assert outcome.ended is Ended.MEMORY
    assert outcome.wall_ms < 3000


def test_a_program_that_stays_within_its_memory_is_not_killed_for_pages_it_only_reads(run):
    outcome = run("for n in range(4):\n  open('/box/f', 'wb').write(bytes(6 << 20))\nprint('fine')", memory=48 << 20, output=8 << 20)

    assert outcome.text == "fine\n"


def test_a_fork_bomb_ends_at_the_process_limit(run):
    outcome = run("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass", cpu_ms=300)

    assert outcome.ended in {Ended.CPU, Ended.MEMORY}


def test_a_thread_bomb_ends_at_the_process_limit(run):
    code = """import threading, time
n = 0
try:
    while True:
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start(); n += 1
except RuntimeError:
    print(n)"""
    outcome = run(code, memory=256 << 20)

    assert 100 <= int(outcome.text) < 128


@pytest.mark.parametrize("where", ["stdout", "stderr"])
def test_an_output_flood_is_stopped_at_the_limit(run, where):
    outcome = run(f"import sys\nwhile True: sys.{where}.write('x' * 10000)", output=1 << 20)

    assert outcome.ended is Ended.OUTPUT
    assert outcome.bytes <= 1 << 20


def test_exactly_the_allowed_output_passes_and_one_byte_more_does_not(run):
    assert run("print('x' * 99999)", output=100_000).ended is Ended.EXITED
    assert run("print('x' * 100000)", output=100_000).ended is Ended.OUTPUT


def test_files_count_as_output(run):
    many = "for n in range(1000): open(f'/box/{n}', 'w').write('x' * 8000)"
    assert run(many, output=1 << 20).ended is Ended.OUTPUT
    assert run("f = open('/box/f', 'w')\nwhile True: f.write('x' * 100000)", output=1 << 20).ended is Ended.OUTPUT


def test_a_daemon_that_left_its_session_dies_with_the_run(run):
    code = """import os, time
if not os.fork():
    os.setsid()
    if not os.fork():
        os.close(1); os.close(2); time.sleep(600)
    os._exit(0)
print("gone")"""
    began = time.monotonic()

    assert run(code).text == "gone\n"
    assert time.monotonic() - began < 3


def test_a_daemon_that_keeps_the_output_open_holds_nothing_up(run):
    outcome = run("import os, time\nif os.fork(): print('done', flush=True); os._exit(0)\nwhile True: time.sleep(1)")

    assert outcome.text == "done\n"
    assert outcome.wall_ms < 3000


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_VSOCK", "AF_ALG"])
def test_no_socket_but_unix_can_be_made(run, family):
    code = f"import socket\ntry: socket.socket(socket.{family}, socket.SOCK_DGRAM)\nexcept PermissionError: print('refused')"
    if not hasattr(socket, family):
        pytest.skip(f"this Python knows no {family}")
    assert run(code).text == "refused\n"


def test_unix_sockets_work_inside_and_reach_nothing_outside(run, tmp_path):
    name = f"\0assize-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as outside:
        outside.bind(name)
        outside.listen()
        code = f"""import socket
a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))
try: socket.socket(socket.AF_UNIX).connect({name!r})
except ConnectionRefusedError: print('nobody')"""
        assert run(code).text == "b'x'\nnobody\n"


SYSTEM_CALLS = {
    "ptrace": (101, (0, 0, 0, 0)),
    "process_vm_readv": (310, (1, 0, 0, 0, 0, 0)),
    "keyctl": (250, (0, 0, 0, 0, 0)),
    "add_key": (248, (0, 0, 0, 0, 0)),
    "io_uring_setup": (425, (8, 0)),
    "bpf": (321, (0, 0, 0)),
    "perf_event_open": (298, (0, 0, 0, 0, 0)),
    "userfaultfd": (323, (0,)),
    "mount": (165, (0, 0, 0, 0, 0)),
    "umount2": (166, (0, 0)),
    "open_tree": (428, (-100, 0, 0)),
    "unshare user": (272, (0x10000000,)),
    "unshare net": (272, (0x40000000,)),
    "setns": (308, (0, 0)),
    "chroot": (161, (0,)),
    "reboot": (169, (0, 0, 0)),
}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are of x86-64")
def test_dangerous_system_calls_are_refused(run):
    code = f"""import ctypes, errno
call = ctypes.CDLL(None, use_errno=True).syscall
for name, (number, arguments) in {SYSTEM_CALLS!r}.items():
    result = call(number, *arguments)
    if result != -1 or ctypes.get_errno() != errno.EPERM: print(name, result, ctypes.get_errno())
print(call(435, 0, 0), ctypes.get_errno() == errno.ENOSYS)"""

    assert run(code).text == "-1 True\n"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the gate is of x86-64")
def test_system_calls_of_another_architecture_kill(run_c):
    outcome = run_c('int main(void) { int r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(20)); return r > 0 ? 0 : 1; }')

    assert outcome.status == 128 + signal.SIGSYS


def test_a_new_namespace_cannot_be_made_by_clone(run_c):
    source = """#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <errno.h>
static char stack[65536];
static int child(void *p) { (void)p; return 0; }
int main(void) { printf("%d\\n", clone(child, stack + 65536, CLONE_NEWUSER | SIGCHLD, 0) == -1 && errno == EPERM); }"""
    assert run_c(source).text == "1\n"


def test_the_environment_is_empty(run):
    assert run("import os; print(sorted(os.environ))").text in {"['PWD']\n", "['LC_CTYPE', 'PWD']\n"}


def test_nothing_of_the_agents_environment_can_be_read_at_process_1(run, monkeypatch):
    monkeypatch.setenv("ASSIZE_SECRET", "top-secret")
    code = "print(open('/proc/1/environ').read() + open('/proc/1/cmdline').read())"

    assert "secret" not in run(code).text


def test_only_three_descriptors_are_open(run):
    assert run("import os; print(sorted(os.listdir('/proc/self/fd'))[:-1])").text == "['0', '1', '2']\n"


def test_stdin_cannot_be_changed_even_when_opened_again(run):
    code = """import os
for how in ('r+b', 'wb', 'ab'):
    try:
        with open('/proc/self/fd/0', how, buffering=0) as f: f.write(b'X'); print('wrote')
    except OSError: pass
try: os.truncate('/proc/self/fd/0', 0); print('cut')
except OSError: pass
print(input())"""
    assert run(code, stdin=b"original\n").text == "original\n"


def test_no_test_and_no_answer_is_anywhere_to_be_found(run, tmp_path):
    (tmp_path / "1a.out").write_text("the answer")
    code = f"""import os
print(os.path.exists({str(tmp_path)!r}), os.listdir('/box'))
print(' '.join(os.listdir('/')))
own = set(os.listdir('/')) - {{'usr', 'proc', 'lib', 'lib64', 'bin', 'sbin'}}
print([name for top in own for _, _, names in os.walk('/' + top) for name in names if name.endswith(('1a.out', '.answer'))])
for place in ('root', 'cwd', 'fd'):
    try: print(any('1a.out' in name for name in os.listdir('/proc/1/' + place)))
    except OSError: print(False)"""
    first, top, found, *rest = run(code, cpu_ms=20_000).text.splitlines()

    assert (first, found, set(rest)) == ("False []", "[]", {"False"})
    assert not {"home", "root", "var", "srv", "work", "mnt", "opt"} & set(top.split())


UNSEEN = ["/etc/shadow", "/etc/passwd", "/root", "/home", "/var", "/sys", "/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/fuse"]


@pytest.mark.parametrize("path", UNSEEN)
def test_what_a_program_has_no_business_with_is_not_there(run, path):
    assert run(f"import os; print(os.access({path!r}, os.R_OK))").text == "False\n"


def test_nothing_outside_the_own_directory_can_be_written(run):
    code = """import os
places = ['/', '/usr', '/usr/lib', '/etc', '/dev', '/dev/shm', '/proc', '/proc/sys/kernel/core_pattern', '/bin']
print([p for p in places if os.access(p, os.W_OK)])
open('/box/mine', 'w').write('x'); open('/tmp/too', 'w').write('x'); print(sorted(os.listdir('/box')))"""
    assert run(code).text == "[]\n['mine', 'too']\n"


def test_no_capability_is_held_and_none_can_be_gained(run):
    status = dict(line.split(":\t", 1) for line in run("print(open('/proc/self/status').read())").text.splitlines() if ":\t" in line)

    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert status["Uid"].split()[0] != "0"


def test_a_core_is_never_dumped(run):
    assert run("import resource; print(resource.getrlimit(resource.RLIMIT_CORE)[1] <= 1)").text == "True\n"
    assert core_bytes("|/usr/lib/systemd/systemd-coredump %P") == 1
    assert core_bytes("core") == 0


def test_files_of_the_program_cannot_be_replaced(run):
    blob = Blob.of(b"x")
    code = """import os
for act in (lambda: os.unlink('main'), lambda: open('main', 'w'), lambda: os.rename('main', 'other')):
    try: act(); print('did')
    except OSError: pass"""
    assert run(code, files={"main": blob}).text == ""
    blob.close()


def test_data_is_readable_under_its_name_and_cannot_be_changed(run):
    blob = Blob.of(b"the input")
    code = "print(open('input').read())\ntry: open('input', 'r+').write('x'); print('wrote')\nexcept OSError: pass"
    assert run(code, data={"input": blob}).text.startswith("the input\n")
    assert blob.read() == b"the input"
    blob.close()


@pytest.mark.parametrize(
    ("leave", "why"),
    [
        ("os.symlink('/etc/passwd', 'main')", "no regular file|cannot be read"),
        ("os.symlink('/proc/self/environ', 'main')", "no regular file|cannot be read"),
        ("os.mkfifo('main')", "no regular file"),
        ("open('main', 'w'); os.link('main', 'other')", "several names"),
        ("open('main', 'w'); os.chmod('main', 0o4755)", "set-id"),
        ("pass", "cannot be read"),
        ("open('main', 'wb').truncate(3 << 20)", "too large"),
        ("[(os.makedirs('main', exist_ok=True), os.chdir('main')) for _ in range(60)]", "deep"),
    ],
)
def test_an_artefact_that_is_no_plain_file_is_not_taken(box, leave, why):
    with pytest.raises(BadArtefact, match=why):
        ran(box, ("/usr/bin/python3", "-c", f"import os\n{leave}"), output=32 << 20, keep="main", keep_bytes=1 << 20)


def test_a_folder_of_artefacts_is_taken_with_its_names(run):
    code = "import os\nos.makedirs('out/a')\nopen('out/x', 'w').write('1')\nopen('out/a/y', 'w').write('2')"
    assert run(code, keep="out").kept == {"out/a/y": b"2", "out/x": b"1"}


def test_a_tree_that_resists_deletion_leaves_nothing(run):
    code = """import os
for _ in range(1500): os.mkdir('d' * 200); os.chdir('d' * 200)
os.chdir('/box'); os.mkdir('closed'); open('closed/x', 'w'); os.chmod('closed', 0)
print('made')"""
    assert run(code, cpu_ms=5000, memory=128 << 20).text == "made\n"


def test_a_run_is_killed_at_once_when_the_judging_is_cancelled(box):
    began = time.monotonic()
    with pytest.raises(Interrupted):
        ran(box, ("/bin/sleep", "600"), cpu_ms=60_000, cancelled=lambda: time.monotonic() - began > 0.2)

    assert time.monotonic() - began < 1.5


def test_a_program_that_cannot_be_started_says_so(box):
    outcome = ran(box, ("./missing",))

    assert outcome.status == 127
    assert outcome.errors.startswith("bwrap: ")


def test_descriptors_do_not_leak(box):
    def open_now():
        return len(list(Path("/proc/self/fd").iterdir()))

    ran(box, ("/bin/true",))
    before = open_now()
    for _ in range(5):
        ran(box, ("/bin/true",))
        with pytest.raises(Interrupted):
            ran(box, ("/bin/sleep", "9"), cancelled=lambda: True)
        with pytest.raises(BadArtefact):
            ran(box, ("/bin/true",), keep="main")

    assert open_now() == before


def test_two_runs_at_once_share_nothing(box):
    outcomes = []

    def one(number):
        code = f"""import os, time
open('/box/f', 'w').write('{number}'); time.sleep(.3)
print(os.listdir('/box'), open('/box/f').read(), len([p for p in os.listdir('/proc') if p.isdigit()]))"""
        outcomes.append((number, ran(box, ("/usr/bin/python3", "-c", code)).text))

    threads = [threading.Thread(target=one, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {(number, text) for number, text in outcomes} == {(n, f"['f'] {n} 2\n") for n in range(3)}


def test_two_runs_at_once_do_not_speak(box):
    outcomes = []
    code = """import socket, time
ear = socket.socket(socket.AF_UNIX)
try:
    ear.bind('\\0assize-meeting'); ear.listen()
    ear.settimeout(1)
    ear.accept(); print('heard')
except TimeoutError:
    print('nobody')
except OSError:
    socket.socket(socket.AF_UNIX).connect('\\0assize-meeting'); print('spoke')"""

    threads = [threading.Thread(target=lambda: outcomes.append(ran(box, ("/usr/bin/python3", "-c", code)).text)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert outcomes == ["nobody\n", "nobody\n"]


def test_a_program_at_half_its_limit_beside_busy_neighbours_is_not_called_slow(run):
    burners = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) for _ in range(4)]
    try:
        outcome = run("import time\nwhile time.process_time() < .4: pass\nprint('done')", cpu_ms=1000)
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()

    assert outcome.text == "done\n"


def test_two_programs_talk_to_each_other_through_their_pipes(box):
    limits = Limits(1000, 64 << 20, 1 << 20)
    one = Command(("/usr/bin/python3", "-c", "print(1, flush=True); a = int(input()); print(a + 1, flush=True); exit(7)"), limits)
    other = Command(("/usr/bin/python3", "-c", "a = int(input()); print(a + 1, flush=True); b = int(input()); exit(b)"), limits)

    first, second = box.converse(one, other, never)

    assert (first.status, second.status) == (7, 3)
    first.close()
    second.close()


def test_copies_can_be_changed_and_folders_filled_and_both_are_brought_out_after_the_exit_codes_asked_for(run):
    blob = Blob.of(b"first\n")
    code = "open('f/log', 'a').write('second\\n'); open('g/new', 'w').write('x'); raise SystemExit({})"
    how = {"copies": {"f/log": blob}, "folders": ("g",), "keep_after": frozenset({42, 43})}

    assert run(code.format(42), keep="f", **how).kept == {"f/log": b"first\nsecond\n"}
    assert run(code.format(43), keep="g", **how).kept == {"g/new": b"x"}
    assert run(code.format(0), keep="g", **how).kept == {}
    assert blob.read() == b"first\n"
    blob.close()


def test_a_program_larger_than_what_it_may_write_is_run(run):
    large = Blob.of(bytes(8 << 20))
    outcome = run("import os; print(os.stat('main').st_size)", files={"main": large}, output=1 << 20)
    flood = run("open('/box/f', 'wb').write(bytes(4 << 20))", files={"main": large}, output=1 << 20)

    assert outcome.text == f"{8 << 20}\n"
    assert flood.ended is Ended.OUTPUT or flood.status != 0
    large.close()


TALK = Limits(2000, 64 << 20, 1 << 20)


def talk(box, one, other, **how):
    """The outcomes of two Python programs that talk, `how` being of the first."""
    commands = [Command(("/usr/bin/python3", "-c", code), TALK) for code in (one, other)]
    outcomes = box.converse(replace(commands[0], **how), commands[1], never)
    return [Ran(outcome) for outcome in outcomes], outcomes[0].ended_at < outcomes[1].ended_at


@pytest.mark.parametrize("attempt", range(3))
def test_who_ended_first_is_known_even_when_one_end_causes_the_other(box, attempt):
    waits, leaves = "import sys; sys.stdin.read(); sys.exit(1)", "import sys; sys.exit(43)"

    assert talk(box, waits, leaves)[1] is False
    assert talk(box, leaves, waits)[1] is True


def test_a_writer_that_is_spared_never_meets_a_broken_pipe(box):
    writes = "import sys\nfor _ in range(100): print('x' * 10000, flush=True)\nsys.stdin.read(); sys.exit(42)"
    (_, broken), _ = talk(box, "pass", writes)
    (first, spared), first_left = talk(box, "pass", writes, spares_writer=True)
    (_, closed), _ = talk(box, "import os, time; os.close(0); time.sleep(.3)", writes, spares_writer=True)

    assert broken.status == 1
    assert (first.status, spared.status, closed.status) == (0, 42, 42)
    assert first_left
