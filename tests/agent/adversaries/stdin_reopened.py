# wants: Accepted
# The input is sealed: were it not, the next run of the same test would read this.
import os

wrote = []
for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_TRUNC):
    for path in ("/proc/self/fd/0", "/dev/stdin", "/dev/fd/0"):
        try:
            fd = os.open(path, flags)
            os.write(fd, b"9 9")
            wrote.append(path)
        except OSError:
            pass
print(wrote or sum(map(int, input().split())))
