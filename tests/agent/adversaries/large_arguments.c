// wants: Memory limit exceeded | Accepted
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
// Ever larger arguments and environments for itself: the kernel keeps two copies of them while it begins a program.
int main(int count, char **given) {
    if (count > 400) return puts("3"), 0;
    static char *more[2048];
    char *large = malloc(100 << 10);
    memset(large, 'x', (100 << 10) - 1);
    large[(100 << 10) - 1] = 0;
    int wanted = count * 2 + 1;
    for (int n = 0; n < wanted; n++) more[n] = large;
    execve("/proc/self/exe", more, more);
    puts("3");
}
