// The objects that were searched for routines, with the functions that were judged to be routines. An object is judged
// once, to be patched or when one of its functions is looked up by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "intercept/loaded_objects.h"
#include "intercept/symbols/blas_functions.h"

namespace blastoff::intercept {

struct JudgedObject {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::string path;
  std::uintptr_t bias = 0;
  std::uint64_t unloads = 0;  ///< linker_counts().unloads when the object was judged
  BlasFunctions found;
  Library* to_ask = nullptr;  ///< nullptr: all functions are certain

  /// Returns the routine at an address of this process. Also finds an indirect function, whose address was chosen when
  /// the object was loaded. nullptr: the function is not a routine.
  const BlasFunction* find(std::string_view symbol, const void* function) const;
  /// Whether the function of that name is a wrapper.
  bool hands_on(std::string_view symbol) const;
};

/// Returns the judged object. It is judged now if that has not been done, or if any object was unloaded since. That
/// takes milliseconds for a large library. `file`: the object's file. The object must not be unloaded meanwhile. Never
/// freed.
const JudgedObject& judged_object(const LoadedObject& object, const ObjectFile& file);

/// The same for the object that holds `function`. nullptr: no loaded object holds it.
const JudgedObject* judged_object_of(const void* function);

}  // namespace blastoff::intercept
