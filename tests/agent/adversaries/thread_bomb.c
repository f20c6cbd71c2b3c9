// wants: Memory limit exceeded | Time limit exceeded
#include <pthread.h>
static void *work(void *p) { for (;;) ; return p; }
int main(void) {
    pthread_t thread;
    for (;;) pthread_create(&thread, 0, work, 0);
}
