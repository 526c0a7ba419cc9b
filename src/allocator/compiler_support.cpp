// A function of glibc that the compiler's run-time library calls by a name that other C libraries hide.
#include <sys/auxv.h>

/// On aarch64, atomic operations ask by this function whether the processor has instructions for them.
extern "C" unsigned long __getauxval(unsigned long type) {  // NOLINT(bugprone-reserved-identifier)
  return getauxval(type);
}
