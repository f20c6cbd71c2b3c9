"""The system calls a boxed program is refused (runner-agent §3.3), built by libseccomp through ctypes.

A list of what is denied, not of what is allowed: Java, Node, Python and compilers must run, and the
namespaces, the missing capabilities and the control group carry the rest.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import functools
import os
import socket

from runners.agent.errors import Unavailable

REMEDY = "apt-get install libseccomp2"
ALLOW = 0x7FFF0000
KILL_PROCESS = 0x80000000
ATTRIBUTE_BAD_ARCH = 2
ATTRIBUTE_OPTIMIZE = 8
NOT_EQUAL, MASKED_EQUAL = 1, 7

TRACING = ("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp")
KEYS = ("keyctl", "add_key", "request_key")
URING = ("io_uring_setup", "io_uring_enter", "io_uring_register")
KERNEL_INSIDE = ("bpf", "perf_event_open", "userfaultfd", "lookup_dcookie", "syslog", "fanotify_init")
MOUNTS = ("mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick")
MOUNTS_NEWER = ("mount_setattr", "open_tree_attr", "statmount", "listmount", "name_to_handle_at", "open_by_handle_at")
NAMESPACES = ("unshare", "setns")
WATCHES = ("inotify_init", "inotify_init1")
"""Few for each user (128), and all boxes of a machine are of one: a program that takes them all takes them from the others."""

MACHINE = (
    *("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "acct"),
    *("settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "stime", "iopl", "ioperm", "quotactl", "quotactl_fd"),
    *("sethostname", "setdomainname", "vhangup", "nfsservctl", "uselib", "_sysctl", "vm86", "vm86old", "modify_ldt"),
)
REFUSED = (*TRACING, *KEYS, *URING, *KERNEL_INSIDE, *MOUNTS, *MOUNTS_NEWER, *NAMESPACES, *WATCHES, *MACHINE)
NAMESPACE_FLAGS = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
"""CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID and NET. NEWTIME exists for clone3 only, which is refused whole."""

TIOCSTI, TIOCLINUX = 0x5412, 0x541C


class _Argument(ctypes.Structure):
    """`struct scmp_arg_cmp`."""

    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("datum_a", ctypes.c_uint64), ("datum_b", ctypes.c_uint64))


def _refuse(number: int) -> int:
    """SCMP_ACT_ERRNO."""
    return 0x00050000 | number


@functools.cache
def program() -> bytes:
    """The compiled filter for this machine's architecture. Raises Unavailable without libseccomp."""
    library = _library()
    context = library.seccomp_init(ALLOW)
    if not context:
        raise Unavailable("libseccomp cannot make a filter", REMEDY)
    try:
        _fill(library, ctypes.c_void_p(context))
        return _exported(library, ctypes.c_void_p(context))
    finally:
        library.seccomp_release(ctypes.c_void_p(context))


def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    except OSError as error:
        raise Unavailable("libseccomp is not installed", REMEDY) from error
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_release.argtypes = [ctypes.c_void_p]
    library.seccomp_attr_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32]
    library.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.seccomp_syscall_resolve_name.argtypes = [ctypes.c_char_p]
    library.seccomp_rule_add_array.argtypes = [
        *(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint),
        ctypes.POINTER(_Argument),
    ]
    return library


def _fill(library: ctypes.CDLL, context: ctypes.c_void_p) -> None:
    library.seccomp_attr_set(context, ATTRIBUTE_BAD_ARCH, KILL_PROCESS)
    # A binary tree instead of a chain: 80 rules are not walked on every call. Older libraries keep the chain.
    library.seccomp_attr_set(context, ATTRIBUTE_OPTIMIZE, 2)
    for name in REFUSED:
        _rule(library, context, name, errno.EPERM)
    # glibc falls back to clone, whose flags can be looked at: clone3 keeps them in memory.
    _rule(library, context, "clone3", errno.ENOSYS)
    for flag in NAMESPACE_FLAGS:
        _rule(library, context, "clone", errno.EPERM, _Argument(0, MASKED_EQUAL, flag, flag))
    for name in ("socket", "socketpair"):
        _rule(library, context, name, errno.EPERM, _Argument(0, NOT_EQUAL, socket.AF_UNIX, 0))
    for request in (TIOCSTI, TIOCLINUX):
        _rule(library, context, "ioctl", errno.EPERM, _Argument(1, MASKED_EQUAL, 0xFFFFFFFF, request))


def _rule(library: ctypes.CDLL, context: ctypes.c_void_p, name: str, number: int, *arguments: _Argument) -> None:
    call = library.seccomp_syscall_resolve_name(name.encode())
    if call == -1:
        return  # newer than this libseccomp; what is missed is still refused for want of a capability
    array = (_Argument * len(arguments))(*arguments)
    result = library.seccomp_rule_add_array(context, _refuse(number), call, len(arguments), array)
    if result != 0 and -result not in {errno.EOPNOTSUPP, errno.EDOM}:
        raise Unavailable(f"libseccomp refuses the rule for {name}: {os.strerror(-result)}", REMEDY)


def _exported(library: ctypes.CDLL, context: ctypes.c_void_p) -> bytes:
    fd = os.memfd_create("seccomp")
    try:
        if library.seccomp_export_bpf(context, fd) != 0:
            raise Unavailable("libseccomp cannot write its filter", REMEDY)
        return os.pread(fd, 1 << 20, 0)
    finally:
        os.close(fd)
