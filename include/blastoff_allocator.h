/* The functions of libblastoff-allocator.so other than those that it interposes (docs/placement.md). Programs do not
 * need them. */
#ifndef BLASTOFF_ALLOCATOR_H
#define BLASTOFF_ALLOCATOR_H

#ifdef __cplusplus
extern "C" {
#endif

/* The blocks that libblastoff-allocator.so has placed in this process (docs/placement.md). The function that fills this
 * in is present if the library is loaded: look it up with dlsym(), or as a weak symbol. */
typedef struct blastoff_placement {
  unsigned long long placed_blocks, placed_bytes; /* allocated so far on pages of their own, aligned */
  unsigned long long bound_blocks, bound_bytes;   /* of these, bound to the device's node */
  unsigned long long left_blocks, left_bytes;     /* large enough, but the kernel gave no pages: allocated as usual */
  int node;                                       /* node to which blocks are bound; -1: none */
  const char* unbound;                            /* why blocks are not bound; NULL if they are, or need not be */
  const char* owner; /* the other allocator that serves all blocks of this process; NULL: the C library */
} blastoff_placement;

void blastoff_allocator_counts(blastoff_placement* counts);

/* The version of libblastoff-allocator.so, as in "1.2.3". */
const char* blastoff_allocator_version(void);

#ifdef __cplusplus
}
#endif

#endif
