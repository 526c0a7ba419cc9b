// A simulated device for tests that watch what is asked of it.
#pragma once

#include <cstddef>
#include <memory>

#include "device/open.h"

namespace blastoff::test {

/// With so many bytes of memory.
inline std::unique_ptr<device::Device> open_simulated(std::size_t bytes) {
  device::Choice choice;
  choice.name = "simulated";
  choice.simulated_memory = bytes;
  return *device::open(choice);
}

}  // namespace blastoff::test
