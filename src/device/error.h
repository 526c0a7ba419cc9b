// Errors of a device, as values.
#pragma once

#include <cstdint>
#include <string>

#include <tl/expected.hpp>

namespace blastoff::device {

enum class ErrorKind : std::uint8_t {
  unavailable,     ///< no GPU, driver or cuBLAS, or a version that cannot be used
  out_of_memory,   ///< the device, or the host for pinned memory, has no room; the device still works
  no_host_memory,  ///< the process has none left, or none now; the device still works
  unsupported,     ///< not supported by this device (virtual memory management, pinning, ...)
  failed,          ///< the operation has no result, or none that can be trusted (Operation::may_fail)
  lost,            ///< the device or its context is unusable from now on
};

struct Error {
  ErrorKind kind;
  std::string message;  ///< one line, names the failing operation and the cause
};

/// The error if an exception has ended the work. The text is so short that it needs no memory.
inline Error no_host_memory() {
  return {ErrorKind::no_host_memory, "out of memory"};
}

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

}  // namespace blastoff::device
