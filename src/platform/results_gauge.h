// What became of results that stayed on a device, as numbers that another thread or process can read at any time.
#pragma once

#include <atomic>
#include <cstdint>

namespace blastoff::platform {

/// All numbers are bytes of whole pages, so far.
struct ResultsGauge {
  std::atomic<std::uint64_t> overwritten;   ///< a device computed them anew, before anything else became of them
  std::atomic<std::uint64_t> touched;       ///< came home because somebody touched them, or others beside them
  std::atomic<std::uint64_t> brought_home;  ///< came home, for that reason or any other
};

/// The same at one moment.
struct ResultsFate {
  std::uint64_t overwritten = 0, touched = 0, brought_home = 0;
};

inline ResultsFate fate_of(const ResultsGauge& gauge) {
  return {gauge.overwritten, gauge.touched, gauge.brought_home};
}

}  // namespace blastoff::platform
