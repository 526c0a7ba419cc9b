// What decisions rested on, and what came of them: for --explain. Nothing is kept and nothing is spent while it is off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "operation/operation.h"
#include "report/refusal.h"

namespace blastoff::report {

/// Seconds and bytes that were predicted for one call. 0: nobody knows.
struct Prediction {
  double cpu_seconds = 0;
  double device_seconds = 0;    ///< with all matrices there
  double bringing_seconds = 0;  ///< of what is missing
  double missing_bytes = 0;
};

/// Calls of one routine, of about the same work and data, that went the same way for the same reason.
struct Decisions {
  operation::RoutineId routine{};
  Refusal refusal = Refusal::none;
  std::string example;  ///< arguments of the call that took longest
  std::uint64_t calls = 0;
  double seconds = 0;        ///< that they took, all together
  double longest = 0;        ///< of one call
  std::uint64_t known = 0;   ///< calls for which the CPU's time was known
  std::uint64_t judged = 0;  ///< calls for which the device's time was predicted
  Prediction predicted;      ///< sums over those
};

/// How many to keep; 0 switches it off.
void explain_decisions(std::size_t most);
bool explains_decisions();

/// A call is over: offloaded, or not for that reason. Takes a lock and memory: not to be interrupted for good.
void add_decision(const operation::Operation& operation, Refusal refusal, const Prediction& predicted, double seconds);

/// Those that took longest, longest first.
std::vector<Decisions> dearest_decisions();

/// For the child of a fork.
void forget_decisions();

/// A table, or "" where there are none.
std::string to_text(const std::vector<Decisions>& decisions);

}  // namespace blastoff::report
