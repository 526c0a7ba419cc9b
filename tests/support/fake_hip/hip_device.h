// A GPU behind the fake HIP driver: device/gpu with a table that is filled from HIP. It runs BLAS operations by host
// functions in the stream.
#pragma once

#include "device/open.h"
#include "fake_hip/api.h"

namespace blastoff::fake_hip {

/// The driver's functions, by name.
struct Hip {
#define BLASTOFF_MEMBER(symbol, result, ...) result (*symbol)(__VA_ARGS__) = nullptr;
  FAKE_HIP_SYMBOLS(BLASTOFF_MEMBER)
#undef BLASTOFF_MEMBER
};

/// To be called after open().
const Hip& hip();

/// `choice.name` is "hip" or "hip:N".
device::Result<std::unique_ptr<device::Device>> open(const device::Choice& choice);

}  // namespace blastoff::fake_hip
