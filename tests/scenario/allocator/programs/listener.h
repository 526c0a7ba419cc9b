// An event about freed memory, as told to a listener.
#include <stddef.h>

typedef struct heard {
  int kind;
  const void* begin;
  size_t bytes;
  const void* moved_to;
  int mapped;  // whether the memory was still mapped (memory that is only dropped always is)
} heard;
