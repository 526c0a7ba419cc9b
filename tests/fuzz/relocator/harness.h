/* What a generated program (generate.py) and the harness know of each other. */
#pragma once

#ifdef __cplusplus
extern "C" {
#define FUZZ_SHARED [[gnu::visibility("default")]]
#else
#define FUZZ_SHARED
#endif

typedef unsigned long word;

/* Every function gets all arguments and declares as many of them as it likes. */
typedef word (*fuzz_function)(word a, word b, word* p, double x, word c, word d, word e, double y, word s, word t,
                              word u);

struct fuzz_case {
  const char* name;
  fuzz_function function; /* an exported symbol with a size */
};

struct fuzz_program {
  const struct fuzz_case* cases;
  int count;
  void (*reset)(void);    /* all variables of the program to what they were at the start */
  word (*checksum)(void); /* of all its variables */
};

/* Calls each function as it is, patched, and through its trampoline. Returns the exit status. */
FUZZ_SHARED int fuzz_relocator(const struct fuzz_program* program);

/* Something far off to call, whose calls are remembered. */
FUZZ_SHARED word fuzz_outside(word value);
FUZZ_SHARED extern word fuzz_calls;

#ifdef __cplusplus
}
#endif
