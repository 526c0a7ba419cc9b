// The vector instructions of this machine's processors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace blastoff::platform {

/// Vector instructions; those of one architecture are in the order of their width.
enum class Vectors : std::uint8_t { unknown, sse, avx, avx2, avx512, neon, sve };

/// "AVX2"; "" for unknown.
const char* to_string(Vectors vectors);

struct Processor {
  std::string name;  ///< "AMD EPYC 9654"; "" if it is not known
  bool made_by_amd = false;
  Vectors vectors{};  ///< the widest that programs may use
};

/// Reads the first processor from the text of /proc/cpuinfo.
Processor parse_processor(std::string_view text);
/// The processor of this machine.
Processor processor();

}  // namespace blastoff::platform
