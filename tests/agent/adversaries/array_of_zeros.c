// wants: Accepted
// Three times the memory limit, never touched: costs nothing.
#include <stdio.h>
static char all[200 << 20];
int main(int argc, char **argv) { (void)argv; printf("%d\n", 3 + all[argc * 1000000]); }
