// wants: Time limit exceeded
#include <signal.h>
int main(void) {
    for (int n = 1; n < 65; n++) signal(n, SIG_IGN);
    for (;;) ;
}
