// wants: Memory limit exceeded
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
int main(void) {
    for (;;) {
        int id = shmget(IPC_PRIVATE, 16 << 20, IPC_CREAT | 0600);
        if (id < 0) return 3;
        memset(shmat(id, 0, 0), 1, 16 << 20);
    }
}
