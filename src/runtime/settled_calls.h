// Settled calls: the decision has left them to the CPU, more or less for good, so they are made without being judged.
#pragma once

#include <cstdint>

#include "report/record.h"

namespace blastoff::runtime {

/// Calls of one thread that are alike. Their sizes may differ if they take time in proportion to their volume.
struct SettledCall {
  std::uint64_t likeness = 0;
  float seconds_per_volume = 0;                     ///< usual seconds of such a call, as timed, by Work::volume
  float wall_seconds_per_volume = 0;                ///< Record::wall_seconds of such a call
  std::uint16_t term = 0;                           ///< the term in which they were settled
  std::uint16_t granted = 0;                        ///< how many calls may be made without being judged
  std::uint16_t left = 0;                           ///< how many of these are left
  report::Refusal refusal = report::Refusal::none;  ///< why they stay on the CPU

  std::uint32_t made() const { return granted - left; }
};

/// Takes one of the calls that may be made; nullptr if the call is to be judged.
const SettledCall* take_settled_call(std::uint64_t likeness);

/// The next call of this thread is judged, and stands for those that were made(). None is settled from here on.
SettledCall end_settled_calls(std::uint64_t likeness);

/// This thread may make `calls` more such calls without judgement; each is counted like `typical`, by its own volume.
void settle_calls(std::uint64_t likeness, std::uint32_t calls, const report::Record& typical);

/// Ends all settlements, of all threads. Takes no lock.
void begin_new_term();

}  // namespace blastoff::runtime
