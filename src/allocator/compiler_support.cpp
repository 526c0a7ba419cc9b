// What the compiler's run-time library takes from glibc by a name that other C libraries hide.
#include <sys/auxv.h>

/// Atomic operations ask by it whether the processor has instructions for them (aarch64).
extern "C" unsigned long __getauxval(unsigned long type) {  // NOLINT(bugprone-reserved-identifier)
  return getauxval(type);
}
