// Finds the function that a call would have reached without Blastoff.
#pragma once

#include <optional>

#include "intercept/evidence/library.h"
#include "intercept/routine_table.h"

namespace blastoff::intercept {

/// The function behind an entry point, for one caller.
struct Original {
  void* function = nullptr;      ///< nullptr: none is loaded. Of a patched function, its trampoline
  abi::Convention convention{};  ///< the entry point's, with the integer width that the library is expected to use
  Library* library = nullptr;    ///< to be asked which it really uses; nullptr: as expected
  bool intercepted = true;       ///< false: the call is handed on as it came, since nothing shows that the function is
                                 ///< the routine of its name, or only patched functions are to be intercepted
  void* companion = nullptr;     ///< companion_of() the routine, of the same library; nullptr: none

  bool operator==(const Original& other) const = default;

  /// nullopt: its arguments cannot be understood, and calls are handed on.
  [[gnu::always_inline]] std::optional<abi::IntegerWidth> integers(blas::Scalar scalar) const {
    return library == nullptr ? convention.integers : library->integers(scalar);
  }
};

/// The original for `entry` as called from `caller` (a return address): the definition that the calling object would
/// have bound. Order: next in the global search order; the caller's own dependencies; any loaded object that defines it
/// and whose dependents include the caller; any loaded object; in a program that was linked with Blastoff, the system's
/// library. Looked up once per calling object and entry, then a few loads, until the calling object or the one that
/// defines it is unloaded. Code that belongs to no object (a compiler's at run time) is bound like the main program's.
/// As long as the caller stays loaded, so does the object that defines it. Where there is none, a later call finds one
/// that has been loaded meanwhile.
Original original_for(const EntryPoint& entry, const void* caller);

/// The same for a call that the main program would make under whichever of the routine's names there is (undecorated
/// ones excepted, which may be anybody's), for work that is not a call of the program's. Nothing is loaded for it, and
/// nothing remembered: it takes milliseconds. It holds as long as linker_counts() is what it was before.
Original original_of_program(const Routine& routine);

/// Objects that are loaded only because of callers that have been unloaded are unloaded too. To be called before the
/// program opens one.
void release_unused_originals();

}  // namespace blastoff::intercept
