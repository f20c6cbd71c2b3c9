// wants: Memory limit exceeded
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
// Huge pages are asked for, locked and populated at once, so that no single fault is the last drop.
int main(void) {
    size_t size = 512ul << 20;
    char *huge = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (huge != MAP_FAILED) memset(huge, 1, size);
    char *plain = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (plain == MAP_FAILED) return 3;
    mlockall(MCL_CURRENT | MCL_FUTURE);
    madvise(plain, size, MADV_HUGEPAGE);
    madvise(plain, size, MADV_POPULATE_WRITE);
    memset(plain, 1, size);
    return 0;
}
