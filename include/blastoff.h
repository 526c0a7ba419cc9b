/* The functions of libblastoff.so other than the BLAS names that it intercepts. Programs do not need them. */
#ifndef BLASTOFF_H
#define BLASTOFF_H

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0" */
const char* blastoff_version(void);

/* Every setting: a JSON list of objects. NULL when out of memory. */
const char* blastoff_options_json(void);

/* What works in this process's environment and what does not: a JSON object. Opens the device. NULL when out of
 * memory. */
const char* blastoff_probe_json(void);

/* How one program or library defines and uses BLAS, and a trial of patching it: a JSON object, with only "error" for
 * a file that is neither. The text stays until the process ends. NULL when out of memory. */
const char* blastoff_inspect_json(const char* path);

/* The same for a file that another process has loaded, with the content of its memory at each function. `memory` is a
 * descriptor of its /proc/PID/mem; `bias` is added to the file's addresses. */
const char* blastoff_inspect_memory_json(const char* path, int memory, unsigned long bias);

/* Reports freed memory from interposed calls, for kernels that do not report it. Called by libblastoff-allocator.so,
 * from any thread, inside malloc and beside signal handlers. Takes no lock, allocates nothing, keeps errno; costs one
 * load without a listener. `kind`: 0 unmapped (or freed), 1 moved to `moved_to`, 2 dropped (madvise). 0 and 1 are
 * reported before the call that causes them, because afterwards another thread may already own the addresses. 2 is
 * reported afterwards: the addresses stay, and data read in between are read again. If mremap or realloc choose the new
 * place themselves, the old place is reported as unmapped before the call, and the new one before the call returns. */
void blastoff_memory_event(int kind, const void* begin, unsigned long bytes, const void* moved_to);

/* 1 if the kernel itself reports freed memory to this process (userfaultfd), 0 if interposed calls must. */
int blastoff_hears_of_memory(void);

/* The result of dlsym(RTLD_NEXT, symbol) in this copy of the library; called by another copy in the same process. */
void* blastoff_next_definition(const char* symbol);

#ifdef __cplusplus
}
#endif

#endif
