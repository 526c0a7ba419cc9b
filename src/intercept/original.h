// Finds the function that a call would have reached without Blastoff.
#pragma once

#include <optional>

#include "intercept/evidence/library.h"
#include "intercept/routine_table.h"

namespace blastoff::intercept {

/// The function behind an entry point, for one caller.
struct Original {
  void* function = nullptr;      ///< nullptr: no such function is loaded. For a patched function this is its trampoline
  abi::Convention convention{};  ///< the convention of the entry point, with the integer width that the library is
                                 ///< expected to use
  Library* to_ask = nullptr;     ///< to be asked for the integer width; nullptr: the width is as in `convention`
  bool intercepted = true;       ///< false: the call is passed on unchanged, because nothing shows that the function is
                                 ///< the routine of its name, or because only patched functions are to be intercepted
  void* companion = nullptr;     ///< the function for companion_of() the routine, in the same library; nullptr: none

  bool operator==(const Original& other) const = default;

  /// Returns the width of the integers; nullopt: the arguments cannot be understood, so calls are passed on unchanged.
  [[gnu::always_inline]] std::optional<abi::IntegerWidth> integers(blas::Scalar scalar) const {
    return to_ask == nullptr ? convention.integers : to_ask->integers(scalar);
  }
};

/// Returns the original for `entry` as called from `caller` (a return address): the definition to which the linker
/// would have bound the calling object. The search order is: the next definition in the global search order; the
/// definition in the calling object or its dependencies; the definition in an object that depends on the calling
/// object, or in that object's dependencies; the definition in any loaded object; in a program that was linked with
/// Blastoff, the system's library. The result is remembered for each calling object and entry, until the calling or the
/// defining object is unloaded; until then a call takes a few loads from memory. Code that belongs to no object
/// (compiled at run time) is bound like the main program's. The defining object stays loaded as long as the caller. If
/// no definition exists, a later call finds one that has been loaded meanwhile.
Original original_for(const EntryPoint& entry, const void* caller);

/// Returns the original for work that is not a call of the program's: the function that the main program would reach
/// under any of the routine's names, except undecorated names, which may be anybody's. Loads nothing and remembers
/// nothing; takes milliseconds. The result holds as long as linker_counts() does not change.
Original original_of_program(const Routine& routine);

}  // namespace blastoff::intercept
