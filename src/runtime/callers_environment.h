// Saves and restores the part of a thread's state that a BLAS call must not change.
#pragma once

#include <cerrno>
#include <cfenv>

namespace blastoff::runtime {

/// Keeps errno and the floating-point environment (rounding, flags, traps) as the program had them.
class CallersEnvironment {
 public:
  CallersEnvironment() : errno_(errno) { feholdexcept(&floating_point_); }
  ~CallersEnvironment() {
    fesetenv(&floating_point_);
    errno = errno_;
  }
  CallersEnvironment(const CallersEnvironment&) = delete;
  CallersEnvironment& operator=(const CallersEnvironment&) = delete;

 private:
  int errno_;
  std::fenv_t floating_point_;
};

}  // namespace blastoff::runtime
