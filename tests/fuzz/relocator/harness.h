/* The interface between a generated program (generate.py) and the harness. */
#pragma once

#ifdef __cplusplus
extern "C" {
#define FUZZ_SHARED [[gnu::visibility("default")]]
#else
#define FUZZ_SHARED
#endif

typedef unsigned long word;

/* Every function is called with all arguments, and declares the first few of them. */
typedef word (*fuzz_function)(word a, word b, word* p, double x, word c, word d, word e, double y, word s, word t,
                              word u);

struct fuzz_case {
  const char* name;
  fuzz_function function; /* an exported symbol with a size */
};

struct fuzz_program {
  const struct fuzz_case* cases;
  int count;
  void (*reset)(void);    /* sets all variables of the program to their initial values */
  word (*checksum)(void); /* a checksum of all its variables */
};

/* Calls each function unpatched, patched, and through its trampoline. Returns the exit status. */
FUZZ_SHARED int fuzz_relocator(const struct fuzz_program* program);

/* A function far away from the program, which remembers its calls. */
FUZZ_SHARED word fuzz_outside(word value);
FUZZ_SHARED extern word fuzz_calls;

#ifdef __cplusplus
}
#endif
