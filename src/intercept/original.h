// Finding the function that a call would have reached without us.
#pragma once

#include "abi/entry_point.h"
#include "abi/host_routine.h"

namespace blastoff::intercept {

/// The function behind an entry point, for one caller.
struct Original {
  void* function = nullptr;      ///< nullptr: none is loaded. Of a patched function, its trampoline
  abi::Convention convention{};  ///< the entry point's, with the integer width that the library really uses
  bool intercepted = true;       ///< false: the call is handed on as it came, since an undecorated name is defined by
                                 ///< something that is no BLAS, or only patched functions are to be intercepted
  void* companion = nullptr;     ///< of a patched function called by itself: its object's companion_of() the routine
};

/// The original for `entry` as called from `caller` (a return address): the definition that the calling object would
/// have bound. Order: next in the global search order; the caller's own dependencies; any loaded object that defines it
/// and whose dependents include the caller; any loaded object. Looked up once per caller and entry, then a few loads.
/// The object that defines it stays loaded. Where there is none, a later call finds one that has been loaded meanwhile.
Original original_for(const abi::EntryPoint& entry, const void* caller);

/// The library (path) that holds an original, for reports; "" if unknown.
const char* library_of(const Original& original);

/// The entry point of routine `routine` with the same style, prefix and suffix: dgemm_ for dsyrk_. nullptr if there is
/// none.
const abi::EntryPoint* sibling(const abi::EntryPoint& entry, blas::Routine routine);

/// The original, and the same library's companion_of() it, as a HostRoutine. `caller` as for original_for(); nullptr
/// where the original brought its companion.
abi::HostRoutine host_routine(const abi::EntryPoint& entry, const void* caller, const Original& original);

}  // namespace blastoff::intercept
