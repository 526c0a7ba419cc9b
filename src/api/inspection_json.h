// What `blastoff inspect` asks about one ELF file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace blastoff::api {

/// Where a process has the file loaded.
struct InMemory {
  int descriptor;      ///< of its /proc/PID/mem
  std::uint64_t bias;  ///< added to the file's addresses
};

/// intercept::Inspection as a JSON object; {"error": one line} for what is no program or library.
///   machine      "x86_64", "aarch64", else a number; native: whether it is this library's
///   linkage      "shared_object", "dynamic_executable", "static_executable"
///   stripped, soname, needed, library
///   functions    names, routine, style ("fortran", "cblas"), integers ("lp64", "ilp64"), exported, patch (whether it
///   can
///                be patched), preload (whether other objects bind it by a name that libblastoff.so exports), obstacle
///                and explanation ("" where it can be patched), state ("as in file", "patched", "changed"; null where
///                nobody looked into memory)
///   left_alone   name, rule
///   imports      name, preload
std::string inspection_json(const char* path, const std::optional<InMemory>& memory);

}  // namespace blastoff::api
