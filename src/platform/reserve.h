// Memory for code that must not fail: destructors that allocate (those of JSON values do), even while an exception is
// unwinding. A destructor that throws would end the process.
#pragma once

namespace blastoff::platform {

/// While an object lives, this thread gets memory from the reserve if the heap refuses, as long as the reserve lasts.
/// To be declared before the objects whose destructors allocate. (While an exception unwinds the stack, the reserve is
/// open anyway.)
class FromReserve {
 public:
  FromReserve();
  ~FromReserve();
  FromReserve(const FromReserve&) = delete;
  FromReserve& operator=(const FromReserve&) = delete;
};

}  // namespace blastoff::platform
