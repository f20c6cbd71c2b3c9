// wants: Memory limit exceeded | Runtime error
static int fall(volatile int n) { volatile char pad[4096]; pad[n & 4095] = 1; return fall(n + 1) + pad[0]; }
int main(void) { return fall(0); }
