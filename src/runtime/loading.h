// What happens when the library is loaded: from then on the process's BLAS calls are intercepted.
#pragma once

#include <chrono>
#include <cstdint>

namespace blastoff::runtime {

/// When the library was loaded.
std::chrono::steady_clock::time_point loaded_at();

/// What config::fingerprint_of_variables() returned when the library was loaded.
std::uint64_t variables_at_loading();

/// Patches functions, too, if so far calls are intercepted by their names alone though the settings ask for more. For a
/// program that switches offloading on while it runs.
void intercept_more();

/// Writes into the counter file how many objects have been searched, and how many functions found in them.
void keep_interceptors();

}  // namespace blastoff::runtime
