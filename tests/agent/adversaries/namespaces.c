// wants: Accepted
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    for (int bit = 0; bit < 32; bit++)
        if ((0x7e020000u | 0x80u) >> bit & 1 && unshare(1u << bit) == 0) return puts("unshared"), 0;
    if (mount("none", "/box", "tmpfs", 0, 0) == 0) return puts("mounted"), 0;
    if (chroot("/box") == 0) return puts("chrooted"), 0;
    if (syscall(SYS_clone, CLONE_NEWUSER, 0, 0, 0, 0) >= 0) return puts("cloned"), 0;
    puts("3");
}
