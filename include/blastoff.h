/* The functions of libblastoff.so other than the BLAS names that it intercepts. Programs do not need them; a program
 * may call blastoff_mark(). */
#ifndef BLASTOFF_H
#define BLASTOFF_H

#ifdef __cplusplus
extern "C" {
#endif

/* The program enters the phase `name`, which appears on the time line of `blastoff run --memory`. Returns at once if
 * nothing is sampled. May be called from any thread, but not from signal handlers. Only the first 100 bytes of the name
 * are kept. */
void blastoff_mark(const char* name);

/* The version of the library, as in "1.2.3". */
const char* blastoff_version(void);

/* Which state of the sources the library was built from: what `git describe` says of it, or "unknown". */
extern const char blastoff_build_id[];

/* Every setting of the library: a JSON list of objects. NULL when out of memory. */
const char* blastoff_options_json(void);

/* Tries what works in this process's environment: a JSON object. Opens the device. NULL when out of memory. */
const char* blastoff_probe_json(void);

/* The BLAS libraries that this process has loaded, and the kernels that they run on the CPU: a JSON object, like "cpu"
 * of a report. The text stays valid until the process ends. NULL when out of memory. */
const char* blastoff_cpu_json(void);

/* How a program or library defines and uses BLAS, and whether it could be patched: a JSON object, with only "error" for
 * a file that is neither. The text stays valid until the process ends. NULL when out of memory. */
const char* blastoff_inspect_json(const char* path);

/* The same for a file that another process has loaded, compared with the process's memory at each function. `memory` is
 * a descriptor of its /proc/PID/mem; `bias` is added to the file's addresses. */
const char* blastoff_inspect_memory_json(const char* path, int memory, unsigned long bias);

/* The report (share/report.schema.json) of the process whose counters are kept in this file, as of now, whether the
 * process still runs or not. NULL if the file holds no counters, or those of another version, or when out of memory. To
 * be freed with free(). */
char* blastoff_counters_json(const char* path);

/* Removes the files of the process whose counters are kept in this file. The process must have ended. */
void blastoff_remove_counters(const char* path);

/* Memory that Blastoff holds in a process now, and the bytes that it has moved so far. */
struct blastoff_memory {
  unsigned long long device;      /* device memory, for all purposes */
  unsigned long long mirrored;    /* the part of it with copies of host memory that are kept between calls */
  unsigned long long pinned;      /* the program's memory that is page-locked */
  unsigned long long staged;      /* Blastoff's own page-locked buffers */
  unsigned long long to_device;   /* moved to the device by calls */
  unsigned long long from_device; /* moved from the device by calls */
};

/* Fills in `memory` for the process whose counters are kept in the file that this descriptor reads. Returns 0, or -1 if
 * the file holds no counters, or those of another version. */
int blastoff_counters_memory(int file, struct blastoff_memory* memory);

/* The rank of this process in its MPI job, by the variables of MPI libraries and batch systems; -1: there is none. */
int blastoff_global_rank(void);

/* The number of processes of the job on this host, by the same variables; 1 if no variable tells. */
int blastoff_local_size(void);

/* For a path that the user has given: the value for BLASTOFF_REPORT, and why no report can be written there, if so.
 * {"pattern": "...", "obstacle": ""}, where each byte of a path is the character with that number (ISO 8859-1), because
 * a path need not be UTF-8. Creates missing directories. The text stays valid until the process ends. NULL when out of
 * memory. */
const char* blastoff_report_path_json(const char* path);

/* Writes a report that blastoff_counters_json() has returned to a path of that pattern, as the report's process would
 * have done; with `of_child`, under a name with its process id. Returns 0, or -1 after one line on stderr. */
int blastoff_write_report(const char* pattern, const char* report, int of_child);

/* Opens the device and measures it, its link and the kernel's page tracking: a JSON object, with "error" if there is no
 * device. `host_library` is the path of a BLAS that computes for the simulated device, or "". After `seconds`, no
 * further measurement begins; `quick` is for tests. To be called in a process of its own. NULL when out of memory. */
const char* blastoff_calibration_json(const char* host_library, double seconds, int quick);

/* Switches Blastoff on, in a program that has loaded the library while it runs (docs/sessions.md). From now on calls
 * may go to the device. Reads the settings from the environment, unless a call has done so before, and patches the
 * libraries that were loaded meanwhile. Returns 0, or -1 if another copy of the library is active in this process, or
 * if the process has elevated rights; then nothing has changed.
 * Functions of BLAS and dlopen() are patched. No other thread may be about to call one of them: a thread that stands
 * between the first two instructions of a function would not survive the patch. Threads in the middle of a call do no
 * harm. Loading the library patches in the same way, unless BLASTOFF_INTERCEPT is preload at that time. */
int blastoff_enable(void);

/* Lets all later calls run on the CPU, until blastoff_enable(). Waits for calls in flight, at most ten seconds, and
 * frees the device memory that holds matrices. */
void blastoff_disable(void);

/* Returns 1 if calls may go to the device, as far as blastoff_enable() and blastoff_disable() decide; otherwise 0. */
int blastoff_enabled(void);

/* blastoff_report_json(): the report of this process as of now (share/report.schema.json). blastoff_counts_json(): only
 * its counts: totals, routines, refusals, verification. NULL when out of memory. To be freed with free(). */
char* blastoff_report_json(void);
char* blastoff_counts_json(void);

/* Names and values of all settings: those of the environment or, with `in_force`, those in force. NULL if no settings
 * are in force yet, or when out of memory. To be freed with free(). */
char* blastoff_settings_json(int in_force);

/* Predicts the times of traced programs (blastoff run --trace) on another machine: a JSON object, with "error" if the
 * request, which is also a JSON object, or a trace is wrong. src/prediction/prediction.h describes both objects. To be
 * called in a process of its own. NULL when out of memory. */
const char* blastoff_prediction_json(const char* request);

/* Reports memory that interposed calls have freed, for kernels that do not report it. libblastoff-allocator.so calls
 * it, from any thread, inside malloc and beside signal handlers. Takes no lock, allocates nothing, and preserves errno;
 * without a listener it costs one load. `kind`: 0 unmapped (or freed), 1 moved to `moved_to`, 2 dropped (madvise).
 * Kinds 0 and 1 are reported before the call that causes them, because afterwards another thread may already own the
 * addresses. Kind 2 is reported afterwards: the addresses stay valid, and data read in between are read again. If
 * mremap or realloc choose the new place themselves, the old place is reported as unmapped before the call, and the new
 * place before the call returns. */
void blastoff_memory_event(int kind, const void* begin, unsigned long bytes, const void* moved_to);

/* Returns 1 if the kernel itself reports freed memory to this process (userfaultfd), 0 if interposed calls must report
 * it. Returns -1 if they must until this library has been loaded; then it can be asked again. */
int blastoff_hears_of_memory(void);

/* Returns the result of dlsym(RTLD_NEXT, symbol) in this copy of the library. Another copy in the same process calls
 * it. */
void* blastoff_next_definition(const char* symbol);

#ifdef __cplusplus
}
#endif

#endif
