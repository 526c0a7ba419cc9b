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

/* What interposed calls tell of memory that goes away, for kernels that do not: called by libblastoff-allocator.so, by
 * any thread, inside malloc and beside signal handlers. Takes no lock, allocates nothing, keeps errno; costs one load
 * where nobody listens. `kind`: 0 unmapped (or freed), 1 moved to `moved_to`, 2 dropped (madvise). 0 and 1 are told
 * before the call that brings it about: afterwards another thread may have been given the same addresses already. 2 is
 * told afterwards: the addresses stay, and what is read of them in between is read again. Where mremap or realloc
 * choose the new place themselves, the old one is told as unmapped before, the new one as unmapped before they return.
 */
void blastoff_memory_event(int kind, const void* begin, unsigned long bytes, const void* moved_to);

/* 1 if the kernel itself tells this process of memory that goes away (userfaultfd), 0 if interposed calls must. */
int blastoff_hears_of_memory(void);

/* What dlsym(RTLD_NEXT, symbol) finds behind this copy of the library: asked by another copy in the same process. */
void* blastoff_next_definition(const char* symbol);

#ifdef __cplusplus
}
#endif

#endif
