// BLASTOFF_PLACE, BLASTOFF_ALIGN and the variables that select this process's device, read without allocating.
#pragma once

#include <cstddef>
#include <cstdint>

namespace blastoff::allocator {

inline constexpr std::size_t never = SIZE_MAX;

struct Settings {
  std::size_t bind_from = never;    ///< blocks of this size and more are bound to the device's node
  std::size_t align_from = never;   ///< ... are page-aligned
  bool only_where_it_pays = false;  ///< auto: prints nothing if the machine has no such node
  bool huge_pages = true;
  int chosen_node = -1;                ///< BLASTOFF_DEVICE_NODE; -1 if it is not set
  unsigned device = 0;                 ///< device_index()
  const char* bad_variable = nullptr;  ///< a variable with an invalid value; that value is ignored
  const char* bad_value = nullptr;
  char accepted[96] = "";  ///< description of what the variable accepts

  std::size_t smallest() const { return bind_from < align_from ? bind_from : align_from; }
};

/// Reads the settings from the environment; `get` is getenv.
Settings read_settings(const char* (*get)(const char*));

/// Returns which of the machine's devices this process uses: the number in BLASTOFF_DEVICE, otherwise the local MPI
/// rank, otherwise 0. If the variable that makes devices visible (device/kinds.def) is set, the number is an index into
/// its list. The number of devices is not checked here.
unsigned device_index(const char* (*get)(const char*));

}  // namespace blastoff::allocator
