// What a listener was told of memory that goes away.
#include <stddef.h>

typedef struct heard {
  int kind;
  const void* begin;
  size_t bytes;
  const void* moved_to;
  int mapped;  // the memory was still there (it always is for what is dropped)
} heard;
