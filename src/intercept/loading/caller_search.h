// Which file dlopen() finds depends on its caller. Our hook would be the caller, so the hook does the real caller's
// part of the search itself.
#pragma once

#include <optional>
#include <string>

namespace blastoff::intercept {

/// Returns the argument with which dlopen() opens the file that `caller` (a return address) means by `file` in a linker
/// namespace (an Lmid_t). That is the file found through the caller's DT_RPATH or DT_RUNPATH, with $ORIGIN replaced by
/// the caller's directory, otherwise `file` itself. nullopt: only the dynamic linker can find it, so the caller itself
/// must call the linker.
std::optional<std::string> as_meant_by(const void* caller, const char* file, long space);

}  // namespace blastoff::intercept
