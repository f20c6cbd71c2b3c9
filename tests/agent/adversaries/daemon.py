# wants: Accepted
# The answer is given, and what stays behind must not outlive the run.
import os
import time

print(3, flush=True)
if not os.fork():
    os.setsid()
    if not os.fork():
        os.closerange(0, 3)
        time.sleep(600)
    os._exit(0)
