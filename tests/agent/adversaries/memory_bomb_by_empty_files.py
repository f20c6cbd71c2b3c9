# wants: Memory limit exceeded | Time limit exceeded | Runtime error
# An empty file is no output, but it costs the kernel memory.
number = 0
while True:
    open(f"/box/{number}", "w").close()
    number += 1
