// wants: Accepted | Memory limit exceeded | Compilation error
// A program of a hundred megabytes, larger than anything it may write: nobody's fault but its author's.
#include <stdio.h>
static char all[100 << 20] = {1};
int main(int argc, char **argv) { (void)argv; printf("%d\n", 3 + all[argc * 1000000]); }
