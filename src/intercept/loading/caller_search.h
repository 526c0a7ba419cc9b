// What dlopen() searches depends on who calls it. Once we stand in between it takes us for the caller, so the caller's
// part of the search has to be done before.
#pragma once

#include <optional>
#include <string>

namespace blastoff::intercept {

/// What to hand to dlopen() so that it opens what `caller` (a return address) means by `file` in a linker namespace (an
/// Lmid_t): the file in the caller's DT_RPATH or DT_RUNPATH, $ORIGIN replaced by the caller's directory, else `file` as
/// it is. nullopt: only the dynamic linker can tell, asked by the caller itself.
std::optional<std::string> as_meant_by(const void* caller, const char* file, long space);

}  // namespace blastoff::intercept
