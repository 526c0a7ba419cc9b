// What happens when the library is loaded: from then on the process's BLAS calls are intercepted.
#pragma once

#include <chrono>
#include <cstdint>

namespace blastoff::runtime {

/// When that was.
std::chrono::steady_clock::time_point loaded_at();

/// What config::fingerprint_of_variables() said then.
std::uint64_t variables_at_loading();

/// Where calls are intercepted by their names alone, though the settings ask for more: patches functions, too. For a
/// program that switches offloading on while it runs.
void intercept_more();

/// Tells those who read the counters what has been patched.
void keep_interceptors();

}  // namespace blastoff::runtime
