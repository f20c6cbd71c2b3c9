# wants: Time limit exceeded | Memory limit exceeded
import os

while True:
    try:
        os.fork()
    except OSError:
        pass
