// Where results go when they have been computed.
#pragma once

#include <cstdint>

namespace blastoff::residency {

enum class Results : std::uint8_t {
  automatic,  ///< home, or they stay where the program does not look at them before the device uses them again
  home,       ///< to host memory, at every call
  stay,       ///< on the device until somebody looks, wherever that is possible
};

}  // namespace blastoff::residency
