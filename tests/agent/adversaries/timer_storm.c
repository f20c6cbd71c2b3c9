// wants: Time limit exceeded
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile long rung;
static void ring(int number) { rung += number; }
// Timers as many and as fast as there may be: the kernel's time for their signals is the run's own.
int main(void) {
    struct sigaction act;
    memset(&act, 0, sizeof act);
    act.sa_handler = ring;
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) sigaction(number, &act, 0);
    sigaction(SIGALRM, &act, 0);
    struct itimerval often = {{0, 1}, {0, 1}};
    setitimer(ITIMER_REAL, &often, 0);
    for (int n = 0; n < 2000; n++) {
        struct sigevent event;
        memset(&event, 0, sizeof event);
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = SIGRTMIN + n % 20;
        timer_t timer;
        if (timer_create(CLOCK_MONOTONIC, &event, &timer)) break;
        struct itimerspec soon = {{0, 1000}, {0, 1000}};
        timer_settime(timer, 0, &soon, 0);
    }
    for (;;) rung++;
}
