# wants: Memory limit exceeded | Accepted
# What waits in pipes and sockets is memory too; where it is not counted the number of descriptors bounds it.
import fcntl
import os
import socket

held = []
try:
    while True:
        reading, writing = os.pipe()
        fcntl.fcntl(writing, 1031, 1 << 20)
        os.set_blocking(writing, False)
        held += [reading, writing, *socket.socketpair()]
        os.write(writing, bytes(1 << 20))
except OSError:
    print(3)
