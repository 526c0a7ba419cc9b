// BLASTOFF_PLACE, BLASTOFF_ALIGN and the variables that select this process's device, read without allocating.
#pragma once

#include <cstddef>
#include <cstdint>

namespace blastoff::allocator {

inline constexpr std::size_t never = SIZE_MAX;

struct Settings {
  std::size_t bind_from = never;    ///< blocks of this size and more are bound to the device's node
  std::size_t align_from = never;   ///< ... are page-aligned
  bool only_where_it_pays = false;  ///< auto: prints nothing if there is no such node
  bool huge_pages = true;
  int chosen_node = -1;                ///< BLASTOFF_DEVICE_NODE; -1 if it is not set
  unsigned device = 0;                 ///< device_index()
  const char* bad_variable = nullptr;  ///< a variable with an invalid value; it counts as not set
  const char* bad_value = nullptr;
  char accepted[96] = "";  ///< what it takes, in words

  std::size_t smallest() const { return bind_from < align_from ? bind_from : align_from; }
};

/// From the environment; `get` is getenv.
Settings read_settings(const char* (*get)(const char*));

/// Which of the machine's devices is this process's: the number in BLASTOFF_DEVICE, else the local MPI rank, else 0;
/// and the variable of its kind (device/kinds.def) says which that is. Not yet held against how many there are.
unsigned device_index(const char* (*get)(const char*));

}  // namespace blastoff::allocator
