/* What libblastoff.so offers besides the BLAS names that it intercepts. Programs need none of it. */
#ifndef BLASTOFF_H
#define BLASTOFF_H

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0" */
const char* blastoff_version(void);

/* Every setting: a JSON list of objects. NULL when out of memory. */
const char* blastoff_options_json(void);

/* What works in this process's environment and what does not: a JSON object. Opens the device. NULL when out of memory.
 */
const char* blastoff_probe_json(void);

/* How one program or library defines and uses BLAS, and what patching it would come to: a JSON object, with "error"
 * alone for what is neither. The text stays until the process ends. NULL when out of memory. */
const char* blastoff_inspect_json(const char* path);

/* The same of a file that another process has loaded, with what its memory holds in the place of each function:
 * `memory` is a descriptor of its /proc/PID/mem, `bias` what is added to the file's addresses there. */
const char* blastoff_inspect_memory_json(const char* path, int memory, unsigned long bias);

/* What libblastoff-allocator.so has done in this process (docs/placement.md). Present where that is loaded: to be looked up
 * with dlsym(), or as a weak symbol. */
typedef struct blastoff_placement {
  unsigned long long placed_blocks, placed_bytes; /* allocated so far on pages of their own, aligned */
  unsigned long long bound_blocks, bound_bytes;   /* of these, bound to the device's node */
  unsigned long long left_blocks, left_bytes;     /* large enough, but the kernel gave no pages: allocated as ever */
  int node;                                       /* that blocks are bound to; -1 if to none */
  const char* unbound;                            /* why to none, NULL if to one or not asked for */
  const char* aside; /* who allocates in this process, so that all of this is left to it; NULL: the C library */
} blastoff_placement;

void blastoff_allocator_counts(blastoff_placement* counts);

/* "0.1.0", that of libblastoff-allocator.so */
const char* blastoff_allocator_version(void);

#ifdef __cplusplus
}
#endif

#endif
