// A function that has the name of a routine of vectors and hands other arguments on, beside the program's own xerbla_.
#include <string.h>

void dcopy_(void* to, const void* from, size_t bytes) {
  memcpy(to, from, bytes);
}

void xerbla_(const char* name, const int* info) {
  (void)name;
  (void)info;
}
