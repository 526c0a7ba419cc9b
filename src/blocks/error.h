// What can go wrong with blocks, as a value.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <tl/expected.hpp>

#include "device/error.h"

namespace blastoff::blocks {

/// The statuses of include/blastoff_blocks.h, which says when each occurs.
enum class ErrorKind : std::uint8_t {
  bad_argument = 1,
  conflict,
  not_held,
  nothing_there,
  out_of_memory,
  device_lost,
  unsupported,
};

struct Error {
  ErrorKind kind;
  std::string message;  ///< one line
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> failure(ErrorKind kind, std::string message) {
  return tl::unexpected(Error{kind, std::move(message)});
}

/// An error of a device as one of a block.
inline tl::unexpected<Error> failure(const device::Error& error) {
  switch (error.kind) {
    case device::ErrorKind::no_host_memory:
    case device::ErrorKind::out_of_memory: return failure(ErrorKind::out_of_memory, error.message);
    case device::ErrorKind::unavailable:
    case device::ErrorKind::lost: return failure(ErrorKind::device_lost, error.message);
    case device::ErrorKind::unsupported:
    case device::ErrorKind::failed: break;
  }
  return failure(ErrorKind::unsupported, error.message);
}

}  // namespace blastoff::blocks
