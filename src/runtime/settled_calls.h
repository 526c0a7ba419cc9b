// Calls that the decision has left to the CPU for good, or nearly so: they are made without being judged.
#pragma once

#include <cstdint>

#include "report/record.h"

namespace blastoff::runtime {

/// Calls of one thread that are alike.
struct SettledCall {
  std::uint64_t likeness = 0;
  float seconds = 0;            ///< that those take which are timed
  float wall_seconds = 0;       ///< their Record::wall_seconds
  std::uint16_t term = 0;       ///< the one in which they were settled
  std::uint16_t granted = 0;    ///< calls that may be made
  std::uint16_t left = 0;       ///< of these
  std::uint8_t size_class = 0;  ///< report::size_class()
};

/// One more call like that is made; nullptr: it is to be judged.
const SettledCall* take_settled_call(std::uint64_t likeness);

/// How many calls of this thread the next one that is judged stands for, itself included. None is settled from here on.
std::uint32_t end_settled_calls(std::uint64_t likeness);

/// So many more of this thread may be made, which are counted like that one.
void settle_calls(std::uint64_t likeness, std::uint32_t calls, const report::Record& typical);

/// What calls of any thread were settled by holds no longer. Takes no lock.
void begin_new_term();

}  // namespace blastoff::runtime
