/* What libblastoff-allocator.so offers besides the functions that it interposes (docs/placement.md). Programs need none
 * of it. */
#ifndef BLASTOFF_ALLOCATOR_H
#define BLASTOFF_ALLOCATOR_H

#ifdef __cplusplus
extern "C" {
#endif

/* What libblastoff-allocator.so has done in this process (docs/placement.md). Present where that is loaded: to be
 * looked up with dlsym(), or as a weak symbol. */
typedef struct blastoff_placement {
  unsigned long long placed_blocks, placed_bytes; /* allocated so far on pages of their own, aligned */
  unsigned long long bound_blocks, bound_bytes;   /* of these, bound to the device's node */
  unsigned long long left_blocks, left_bytes;     /* large enough, but the kernel gave no pages: allocated as ever */
  int node;                                       /* that blocks are bound to; -1 if to none */
  const char* unbound;                            /* why to none, NULL if to one or not asked for */
  const char* owner; /* who allocates in this process, so that all of this is left to it; NULL: the C library */
} blastoff_placement;

void blastoff_allocator_counts(blastoff_placement* counts);

/* "0.1.0", that of libblastoff-allocator.so */
const char* blastoff_allocator_version(void);

#ifdef __cplusplus
}
#endif

#endif
