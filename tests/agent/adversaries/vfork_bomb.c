// wants: Runtime error | Time limit exceeded | Memory limit exceeded
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
// Each child holds its parent still, and is stopped by nobody but the group they are all in.
static void deeper(void) {
    pid_t child = vfork();
    if (child < 0) abort();
    if (child == 0) deeper();
    for (;;) pause();
}
int main(void) { deeper(); }
