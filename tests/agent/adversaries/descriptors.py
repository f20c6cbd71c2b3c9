# wants: Accepted
import os

# Everything it may open, in as many children as it may have, while the agent's own reading goes on.
for _ in range(8):
    if os.fork() == 0:
        held = []
        try:
            while True:
                held += os.pipe()
        except OSError:
            os._exit(0)
for _ in range(8):
    os.wait()
held = []
try:
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
inherited = [number for number in range(3, min(held)) if os.path.exists(f"/proc/self/fd/{number}")]
print(inherited or 3)
