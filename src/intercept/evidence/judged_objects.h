// The objects that have been asked for functions by name, and which of their functions are routines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "intercept/symbols/blas_functions.h"

namespace blastoff::intercept {

struct JudgedObject {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::string path;
  std::uintptr_t bias = 0;
  std::uint64_t unloads = 0;  ///< linker_counts() when it was judged
  BlasFunctions found;
  Library* library = nullptr;

  /// The routine at an address of this process, or the one that the object chose when it was loaded; nullptr: it is
  /// none.
  const BlasFunction* find(std::string_view symbol, const void* function) const;
  /// Whether the function of that name is a wrapper.
  bool hands_on(std::string_view symbol) const;
};

/// Judged at the first question, which takes milliseconds for a large library, and again once an object has been
/// unloaded. nullptr: no file tells. Never freed.
const JudgedObject* judged_object_of(const void* function);

}  // namespace blastoff::intercept
