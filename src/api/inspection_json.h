// Describes one ELF file for `blastoff inspect`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace blastoff::api {

/// A process that has loaded the file.
struct InMemory {
  int descriptor;      ///< descriptor of its /proc/PID/mem
  std::uint64_t bias;  ///< what the process adds to the file's addresses
};

/// Returns intercept::Inspection as a JSON object; {"error": one line} for a file that is neither a program nor a
/// library.
///   machine      "x86_64", "aarch64", otherwise a number; native: whether it is this library's machine
///   linkage      "shared_object", "dynamic_executable", "static_executable"
///   stripped, soname, needed, library
///   functions    names, routine, style ("fortran", "cblas"), integers ("lp64", "ilp64"), exported,
///                patch (whether it can be patched),
///                preload (whether other objects bind it by a name that libblastoff.so exports),
///                obstacle and explanation ("" if it can be patched),
///                state ("as in file", "patched", "changed"; null if memory was not read)
///   left_alone   name, rule
///   imports      name, preload
std::string inspection_json(const char* path, const std::optional<InMemory>& memory);

}  // namespace blastoff::api
