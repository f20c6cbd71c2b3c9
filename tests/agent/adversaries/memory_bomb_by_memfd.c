// wants: Memory limit exceeded
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char page[1 << 20];
int main(void) {
    memset(page, 1, sizeof page);
    for (int files = 0; files < 400; files++) {
        int fd = memfd_create("hoard", 0);
        if (fd < 0 || write(fd, page, sizeof page) != sizeof page) return 3;
    }
    return 0;
}
