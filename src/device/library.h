// A library that computes on a device; it may be absent.
#pragma once

#include <string>

namespace blastoff::device {

struct Library {
  std::string computes;  ///< "LAPACK"
  std::string version;   ///< "cuSOLVER 12.0.4"; "" if it is absent
  std::string error;     ///< why it is absent, one line
};

}  // namespace blastoff::device
