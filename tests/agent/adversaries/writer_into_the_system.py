# wants: Accepted
import os
import py_compile
import sys

# What the next run would execute: the program itself, the interpreter's cache, libraries, the compiler's places.
written = []
here = os.path.abspath(sys.argv[0] if sys.argv[0] else ".")
places = [here, sys.executable, os.__file__, "/usr/lib/assize", "/etc/ld.so.preload", "/etc/ld.so.cache", "/usr/bin/gcc", "/proc/1/exe"]
for place in places:
    for act in (
        lambda place=place: open(place, "r+b").close(),
        lambda place=place: os.chmod(place, 0o777),
        lambda place=place: os.unlink(place),
        lambda place=place: os.rename("/tmp", place),
    ):
        try:
            act()
            written.append(place)
        except OSError:
            pass
try:
    py_compile.compile(os.__file__, doraise=True)
    written.append("bytecode")
except (OSError, py_compile.PyCompileError):
    pass
print(written or 3)
