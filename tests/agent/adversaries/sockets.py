# wants: Accepted
import ctypes
import socket

made = []
for family in (socket.AF_INET, socket.AF_INET6, 16, 17, 38, 40, -1):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try:
            made.append(socket.socket(family, kind))
        except OSError:
            pass
# The high half of the argument is not looked at by the kernel, and must not mislead the filter.
call = ctypes.CDLL(None, use_errno=True).syscall
if call(41, ctypes.c_uint64((1 << 32) | 40), 1, 0) >= 0:
    made.append("vsock")
for name in ("\0assize-outside", "\0/tmp/dbus-x", "\0com.ubuntu.upstart"):
    try:
        socket.socket(socket.AF_UNIX).connect(name)
        made.append(name)
    except OSError:
        pass
print(made or 3)
