# wants: Accepted
import os

for _ in range(1500):
    os.mkdir("d")
    os.chdir("d")
os.chdir("/box")
for name in ("a", "b"):
    os.mkdir(name)
    os.symlink("/etc/passwd", f"{name}/link")
    os.mkfifo(f"{name}/fifo")
    os.chmod(name, 0)
print(3)
