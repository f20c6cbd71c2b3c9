// wants: Memory limit exceeded
static volatile char all[1u << 30];
int main(void) { for (unsigned long i = 0; i < sizeof all; i += 4096) all[i] = 1; return 0; }
