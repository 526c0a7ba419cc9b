// The layout of a process's files. The counter file holds a header, then the counters of one thread after the other.
// Threads for which it has no room have their counters in a second file, on disk.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "platform/fnv_hash.h"
#include "platform/memory_gauge.h"
#include "platform/results_gauge.h"
#include "report/thread_counters.h"

namespace blastoff::report {

inline constexpr char counter_extension[] = ".counters";
inline constexpr char more_counters_extension[] = ".more";
inline constexpr char description_extension[] = ".json";
inline constexpr std::uint64_t counter_magic = 0x46464f5453414c42;  // "BLASTOFF"

/// A hash that differs between libraries that would misread each other's files.
#define BLASTOFF_NAME(name, ...) #name " " #__VA_ARGS__ ";"
inline constexpr std::uint64_t counter_layout =
    platform::hash(BLASTOFF_VERSION " 7;" BLASTOFF_ROUTINE_COUNTERS(BLASTOFF_NAME)
                       BLASTOFF_VERIFICATION_COUNTERS(BLASTOFF_NAME) BLASTOFF_REFUSALS(BLASTOFF_NAME)) +
    sizeof(ThreadCounters);
#undef BLASTOFF_NAME

/// The header of a counter file. Only its process writes it.
struct CounterFileHeader {
  std::atomic<std::uint64_t> magic;  ///< counter_magic once the header is complete
  std::uint64_t layout;
  std::int32_t pid;
  std::int32_t rank;                     ///< -1: no MPI
  std::uint64_t started;                 ///< when the library was loaded, in nanoseconds since boot
  std::atomic<std::uint64_t> ended_at;   ///< nanoseconds since boot; 0: the process runs
  std::atomic<std::uint32_t> ended;      ///< 1: ended by exit, so the counts are complete
  std::uint32_t forked;                  ///< 1: a forked child, which uses no device
  std::uint32_t page;                    ///< page size in bytes; all parts are multiples of it
  std::atomic<std::uint32_t> objects;    ///< see Interceptors
  std::atomic<std::uint32_t> functions;  ///< see Interceptors
  std::uint32_t on_disk;                 ///< 1: this file is in the run's directory on disk
  std::atomic<std::uint32_t> described;  ///< bytes of the description; 1: the parent's description is used
  std::atomic<std::int32_t> incomplete;  ///< why there was no room for some counters or the description: an errno, or 0
  platform::MemoryGauge memory;
  platform::ResultsGauge results;
  std::atomic<std::uint32_t> blocks;       ///< number of threads whose counters are here, or could not be mapped
  std::atomic<std::uint32_t> more_blocks;  ///< the same for the second file
  std::array<char, 64> program;
  std::array<char, 64> name;  ///< of this file, without folder and extension
  std::array<char, 128> run;  ///< see this_run()
};

/// The header takes one page.
static_assert(sizeof(CounterFileHeader) <= 4096);
constexpr std::size_t in_pages(std::size_t bytes, std::size_t page) {
  return (bytes + page - 1) / page * page;
}
constexpr std::size_t counter_block_bytes(std::size_t page) {
  return in_pages(sizeof(ThreadCounters), page);
}

/// The present time by the clock of `started`.
std::uint64_t boot_nanoseconds();

}  // namespace blastoff::report
