// The objects in which functions were looked up by name, with the functions that were judged to be routines.
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
  std::uint64_t unloads = 0;  ///< linker_counts().unloads when the object was judged
  BlasFunctions found;
  Library* library = nullptr;

  /// Returns the routine at an address of this process. Also finds an indirect function, whose address was chosen when
  /// the object was loaded. nullptr: the function is not a routine.
  const BlasFunction* find(std::string_view symbol, const void* function) const;
  /// Whether the function of that name is a wrapper.
  bool hands_on(std::string_view symbol) const;
};

/// Returns the object that holds `function`. The object is judged at the first question, which takes milliseconds for a
/// large library, and again after any object was unloaded. nullptr: no loaded object holds it. Never freed.
const JudgedObject* judged_object_of(const void* function);

}  // namespace blastoff::intercept
