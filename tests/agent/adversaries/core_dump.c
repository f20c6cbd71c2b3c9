// wants: Runtime error
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
// A dump of what it has in memory, to be left where the kernel is told to put it.
int main(void) {
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_CORE, &all);
    prctl(PR_SET_DUMPABLE, 1);
    memset(malloc(8 << 20), 'x', 8 << 20);
    abort();
}
