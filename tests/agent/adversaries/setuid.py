# wants: Accepted
import os
import shutil

gained = []
for identity in (0, 1, 65534):
    for call in (os.setuid, os.setgid, os.seteuid, lambda number: os.setgroups([number])):
        try:
            call(identity)
            gained.append(identity)
        except OSError:
            pass
shutil.copy("/usr/bin/id", "/box/id")
os.chmod("/box/id", 0o6755)
for program in ("/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount", "/box/id"):
    if os.path.exists(program):
        pid = os.fork()
        if not pid:
            os.closerange(0, 3)
            try:
                os.execv(program, [program, "-u"])
            finally:
                os._exit(1)
        os.waitpid(pid, 0)
status = open("/proc/self/status").read()
print(gained if gained or "NoNewPrivs:\t1" not in status else 3)
