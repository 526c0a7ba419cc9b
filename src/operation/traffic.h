// What calls moved between the host's memory and devices.
#pragma once

#include <cstdint>

namespace blastoff::operation {

// The one list of these counters: COUNTER(type, name). A counter of reports with the same name (report/counters.def) is
// their sum. Bytes are those of matrix data.
#define BLASTOFF_TRAFFIC_COUNTERS(COUNTER)                                               \
  COUNTER(std::uint64_t, bytes_to_device)                                                \
  COUNTER(std::uint64_t, bytes_from_device)                                              \
  /* from other devices to this one */                                                   \
  COUNTER(std::uint64_t, bytes_between_devices)                                          \
  /* already on the device and current, since an earlier call */                         \
  COUNTER(std::uint64_t, bytes_reused)                                                   \
  /* read for the first time, and yet not moved, since the device reaches them */        \
  COUNTER(std::uint64_t, bytes_met)                                                      \
  /* of matrices that the device read for the call, including bytes_reused */            \
  COUNTER(std::uint64_t, bytes_read)                                                     \
  /* of bytes_to_device, as far as known: written by the CPU since an earlier use */     \
  COUNTER(std::uint64_t, bytes_rewritten)                                                \
  /* of results that stay on the device */                                               \
  COUNTER(std::uint64_t, bytes_left)                                                     \
  /* that keeping operands has cost the CPU since an earlier use, as far as known */     \
  COUNTER(std::uint64_t, page_faults)                                                    \
  /* verify only: pages that were assumed to be current but differed from host memory */ \
  COUNTER(std::uint64_t, stale_pages)                                                    \
  /* wall time in which the call only waited for data, not for arithmetic */             \
  COUNTER(double, transfer_seconds)

struct TrafficCounters {
#define BLASTOFF_FIELD(type, name) type name = 0;
  BLASTOFF_TRAFFIC_COUNTERS(BLASTOFF_FIELD)
#undef BLASTOFF_FIELD

  TrafficCounters& operator+=(const TrafficCounters& other) {
#define BLASTOFF_ADD(type, name) name += other.name;
    BLASTOFF_TRAFFIC_COUNTERS(BLASTOFF_ADD)
#undef BLASTOFF_ADD
    return *this;
  }
};

}  // namespace blastoff::operation
