// wants: Accepted
// A program run from memory is as boxed as any other: it sees what this one sees.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void) {
    int shell = open("/bin/sh", O_RDONLY), copy = memfd_create("sh", MFD_CLOEXEC);
    struct stat seen;
    fstat(shell, &seen);
    sendfile(copy, shell, 0, seen.st_size);
    char *argv[] = {"sh", "-c", "test -e /etc/passwd -o -e /home && echo seen || echo 3", 0}, *environ[] = {0};
    fexecve(copy, argv, environ);
    return 3;
}
