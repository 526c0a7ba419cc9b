// Memory for what must not fail: destructors that allocate (those of JSON values do), while an exception is on its way
// or not. A destructor that throws would end the process.
#pragma once

namespace blastoff::platform {

/// While one of these lives, what the heap refuses to this thread comes from the reserve, as long as that lasts. To be
/// declared before the objects whose destructors allocate. (While an exception unwinds the stack, the reserve is open
/// anyway.)
class FromReserve {
 public:
  FromReserve();
  ~FromReserve();
  FromReserve(const FromReserve&) = delete;
  FromReserve& operator=(const FromReserve&) = delete;
};

}  // namespace blastoff::platform
