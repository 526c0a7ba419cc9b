// Inspects an ELF file without loading it: its BLAS functions and imports, and whether its functions could be patched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "intercept/patch/obstacle.h"
#include "intercept/symbols/blas_functions.h"
#include "intercept/symbols/object_file.h"

namespace blastoff::intercept {

/// The state of a function's first instructions in a process.
enum class CodeState : std::uint8_t {
  not_looked_at,
  as_in_file,
  patched,  ///< patched by a libblastoff.so
  changed,  ///< changed by another tool: a debugger, a profiler
};

struct InspectedFunction {
  BlasFunction function;
  std::optional<patch::Obstacle> obstacle;  ///< why it cannot be patched, as far as the file shows
  bool bound_by_our_name = false;           ///< other objects bind it by a name that libblastoff.so exports too
  std::vector<std::byte> entry;             ///< its first bytes in the file
  CodeState state = CodeState::not_looked_at;
};

/// The name of a BLAS routine that the object expects others to define.
struct Import {
  std::string name;
  bool exported_by_us = false;
};

struct Inspection {
  std::uint16_t machine = 0;  ///< EM_X86_64, EM_AARCH64, ...
  bool native = false;        ///< the machine is the one of this library; functions for other machines are not tried
  Linkage linkage{};
  bool stripped = false;
  std::string soname;
  std::vector<std::string> needed;
  std::string implementation;  ///< which BLAS it is: "OpenBLAS"; "" if it defines none, or an unknown one
  std::vector<InspectedFunction> functions;
  std::vector<LeftAlone> left_alone;
  std::vector<Import> imports;
};

/// Inspects a file. The error is one line that names the file.
tl::expected<Inspection, std::string> inspect(const char* path);

/// Compares the functions' first bytes with a process's memory. `memory`: a descriptor of /proc/PID/mem. `bias`: what
/// the process adds to the file's addresses. Skips functions that cannot be read.
void compare_with_memory(Inspection& inspection, int memory, std::uint64_t bias);

/// Returns Inspection::implementation for a file that defines BLAS functions.
const char* implementation_of(const ObjectFile& object, const char* path);

/// Explains an obstacle in one sentence, without terms of machine code.
const char* explain(patch::Obstacle obstacle);

}  // namespace blastoff::intercept
