// wants: Accepted
#include <errno.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <unistd.h>
int main(void) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != -1) return puts("traced"), 0;
    if (ptrace(PTRACE_ATTACH, 1, 0, 0) != -1) return puts("attached"), 0;
    if (ptrace(PTRACE_SEIZE, getppid(), 0, 0) != -1) return puts("seized"), 0;
    puts("3");
}
