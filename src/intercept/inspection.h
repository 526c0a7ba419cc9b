// The BLAS functions and imports of one ELF file, and a trial of patching them, without loading the file.
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

/// What a process has where a function begins.
enum class CodeState : std::uint8_t {
  not_looked_at,
  as_in_file,
  patched,  ///< by a libblastoff.so
  changed,  ///< by another tool: a debugger, a profiler
};

struct InspectedFunction {
  BlasFunction function;
  std::optional<patch::Obstacle> obstacle;  ///< why it cannot be patched, as far as the file tells
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
  bool native = false;        ///< that of this library; the functions of others are not tried
  Linkage linkage{};
  bool stripped = false;
  std::string soname;
  std::vector<std::string> needed;
  std::string implementation;  ///< which BLAS it is: "OpenBLAS"; "" where it defines none, or none that is known
  std::vector<InspectedFunction> functions;
  std::vector<LeftAlone> left_alone;
  std::vector<Import> imports;
};

/// Looks at a file. The error is one line that names it.
tl::expected<Inspection, std::string> inspect(const char* path);

/// Compares the functions' first bytes with a process's memory (a descriptor of /proc/PID/mem), in which the file's
/// addresses are shifted by `bias`. Skips what cannot be read.
void compare_with_memory(Inspection& inspection, int memory, std::uint64_t bias);

/// As Inspection::implementation, of a file that defines BLAS functions.
const char* implementation_of(const ObjectFile& object, const char* path);

/// One sentence that needs no knowledge of machine code.
const char* explain(patch::Obstacle obstacle);

}  // namespace blastoff::intercept
