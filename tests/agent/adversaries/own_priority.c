// wants: Accepted
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
int main(void) {
    struct sched_param high = {.sched_priority = 50};
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    if (nice(-10) == -10) return puts("nicer"), 0;
    if (sched_setscheduler(0, SCHED_FIFO, &high) == 0) return puts("real time"), 0;
    if (setrlimit(RLIMIT_CPU, &all) == 0 || setrlimit(RLIMIT_FSIZE, &all) == 0) return puts("no limits"), 0;
    puts("3");
}
