// wants: Compilation error
template <int N> struct A { A<N + 1> a; A<N - 1> b; };
A<0> a;
int main() {}
