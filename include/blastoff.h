/* The functions of libblastoff.so other than the BLAS names that it intercepts. Programs do not need them; they may
 * call blastoff_mark(). */
#ifndef BLASTOFF_H
#define BLASTOFF_H

#ifdef __cplusplus
extern "C" {
#endif

/* From here on the program is in the phase of that name, on the time line of `blastoff run --memory`. Returns at once
 * where nothing is sampled. For any thread; not for signal handlers. Of the name, 100 bytes are kept. */
void blastoff_mark(const char* name);

/* "0.1.0" */
const char* blastoff_version(void);

/* Every setting: a JSON list of objects. NULL when out of memory. */
const char* blastoff_options_json(void);

/* What works in this process's environment and what does not: a JSON object. Opens the device. NULL when out of
 * memory. */
const char* blastoff_probe_json(void);

/* The BLAS libraries that this process has loaded, and the kernels that they run on the CPU: a JSON object, as "cpu" of
 * a report. The text stays until the process ends. NULL when out of memory. */
const char* blastoff_cpu_json(void);

/* How one program or library defines and uses BLAS, and a trial of patching it: a JSON object, with only "error" for
 * a file that is neither. The text stays until the process ends. NULL when out of memory. */
const char* blastoff_inspect_json(const char* path);

/* The same for a file that another process has loaded, with the content of its memory at each function. `memory` is a
 * descriptor of its /proc/PID/mem; `bias` is added to the file's addresses. */
const char* blastoff_inspect_memory_json(const char* path, int memory, unsigned long bias);

/* The report (share/report.schema.json) of the process whose counters are kept in this file, as they are now, whether
 * it still runs or not. NULL if the file is none, or is of another version, or when out of memory. To be freed with
 * free(). */
char* blastoff_counters_json(const char* path);

/* Removes the files of that process, which has ended. */
void blastoff_remove_counters(const char* path);

/* Memory that Blastoff holds in a process now, and what it has moved there so far, in bytes. */
struct blastoff_memory {
  unsigned long long device;      /* device memory, for all purposes */
  unsigned long long mirrored;    /* of this, copies of host memory that are kept between calls */
  unsigned long long pinned;      /* the program's memory that is page-locked */
  unsigned long long staged;      /* page-locked buffers of Blastoff's own */
  unsigned long long to_device;   /* moved by calls */
  unsigned long long from_device; /* likewise */
};

/* The same of the process whose counters are kept in the file that this descriptor reads. 0, or -1 if the file is none,
 * or is of another version. */
int blastoff_counters_memory(int file, struct blastoff_memory* memory);

/* The rank of this process in its MPI job, by the variables of MPI libraries and batch systems; -1: none. */
int blastoff_global_rank(void);

/* How many processes of that job are on this host, by the same variables; 1 where nothing tells. */
int blastoff_local_size(void);

/* What BLASTOFF_REPORT is to be for a path that the user has given, and why no report can be written there, if so:
 * {"pattern": "...", "obstacle": ""}, in which each byte of a path is the character of that number (ISO 8859-1), since
 * it need not be UTF-8. Creates missing directories. The text stays until the process ends. NULL when out
 * of memory. */
const char* blastoff_report_path_json(const char* path);

/* Writes a report that blastoff_counters_json() has given to a path of that pattern, as its process would have done;
 * with `of_child`, under a name with its process id. 0, or -1 after one line on stderr. */
int blastoff_write_report(const char* pattern, const char* report, int of_child);

/* Opens the device and measures it, its link and the kernel's page tracking: a JSON object, with "error" where there is
 * no device. `host_library` is the path of a BLAS that computes on the simulated device, or "". No measurement begins
 * after so many seconds; `quick` is for tests. For a process of its own. NULL when out of memory. */
const char* blastoff_calibration_json(const char* host_library, double seconds, int quick);

/* For a session that has loaded the library itself, in the middle of the program (docs/sessions.md). Calls may go to
 * the device from now on: reads the settings from the environment, unless a call has done so, and patches what has been
 * loaded meanwhile. 0, or -1 if another copy of the library is the active one in this process, or the process has
 * elevated rights; then nothing has changed. Functions of BLAS, and dlopen(), are patched: no other thread may be about
 * to call one, since a thread that stands between the first two instructions of a function would not survive that.
 * Threads in the middle of a call are no matter. Loading the library does the same, unless BLASTOFF_INTERCEPT is
 * preload meanwhile. */
int blastoff_enable(void);

/* All later calls run on the CPU, until blastoff_enable(). Waits for calls in flight, for ten seconds at most, and
 * gives back the device memory that holds matrices. */
void blastoff_disable(void);

/* 1 if calls may go to the device, as far as the switch above tells. */
int blastoff_enabled(void);

/* The report of this process as it is now (share/report.schema.json), and its counts alone: totals, routines, refusals,
 * verification. NULL when out of memory. To be freed with free(). */
char* blastoff_report_json(void);
char* blastoff_counts_json(void);

/* Names and values of all settings, those of the environment, or those in force; NULL if none are in force yet, or when
 * out of memory. To be freed with free(). */
char* blastoff_settings_json(int in_force);

/* What traces (blastoff run --trace) would take on another machine: a JSON object, with "error" if the request, a JSON
 * object too, or a trace is wrong. src/prediction/prediction.h describes both. For a process of its own. NULL when out
 * of memory. */
const char* blastoff_prediction_json(const char* request);

/* Reports freed memory from interposed calls, for kernels that do not report it. Called by libblastoff-allocator.so,
 * from any thread, inside malloc and beside signal handlers. Takes no lock, allocates nothing, keeps errno; costs one
 * load without a listener. `kind`: 0 unmapped (or freed), 1 moved to `moved_to`, 2 dropped (madvise). 0 and 1 are
 * reported before the call that causes them, because afterwards another thread may already own the addresses. 2 is
 * reported afterwards: the addresses stay, and data read in between are read again. If mremap or realloc choose the new
 * place themselves, the old place is reported as unmapped before the call, and the new one before the call returns. */
void blastoff_memory_event(int kind, const void* begin, unsigned long bytes, const void* moved_to);

/* 1 if the kernel itself reports freed memory to this process (userfaultfd), 0 if interposed calls must, and -1 if they
 * must until this library has been loaded, after which it can be asked again. */
int blastoff_hears_of_memory(void);

/* The result of dlsym(RTLD_NEXT, symbol) in this copy of the library; called by another copy in the same process. */
void* blastoff_next_definition(const char* symbol);

#ifdef __cplusplus
}
#endif

#endif
