// What dlopen() searches depends on its caller. Our hook would be the caller, so the real caller's part of the search
// is done beforehand.
#pragma once

#include <optional>
#include <string>

namespace blastoff::intercept {

/// The argument for dlopen() with which it opens what `caller` (a return address) means by `file` in a linker namespace
/// (an Lmid_t): the file found through the caller's DT_RPATH or DT_RUNPATH, with $ORIGIN replaced by the caller's
/// directory, else `file` itself. nullopt: only the dynamic linker can tell, so the caller itself must ask it.
std::optional<std::string> as_meant_by(const void* caller, const char* file, long space);

}  // namespace blastoff::intercept
