// For --explain: the numbers behind decisions, and how the calls then went. Costs nothing while --explain is off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "operation/operation.h"
#include "report/refusal.h"

namespace blastoff::report {

/// Seconds and bytes that were predicted for one call; 0: unknown.
struct Prediction {
  double cpu_seconds = 0;
  double device_seconds = 0;    ///< if all matrices are on the device
  double bringing_seconds = 0;  ///< for the missing matrices
  double missing_bytes = 0;
};

/// Calls of one routine, with about the same work and data, that were decided in the same way for the same reason.
struct Decisions {
  operation::RoutineId routine{};
  Refusal refusal = Refusal::none;
  std::string example;  ///< arguments of the call that took longest
  std::uint64_t calls = 0;
  double seconds = 0;            ///< of all calls together
  double longest = 0;            ///< seconds of the longest call
  std::uint64_t known = 0;       ///< calls for which the CPU's time was known
  std::uint64_t judged = 0;      ///< calls for which the device's time was predicted
  std::uint64_t left_bytes = 0;  ///< of results that stayed on the device, of all calls together
  Prediction predicted;          ///< sums over the judged calls
};

/// `most`: how many to keep; 0 switches this off.
void explain_decisions(std::size_t most);
bool explains_decisions();

/// Adds a call that is over: offloaded, or kept on the CPU for the reason `refusal`. `left_bytes`: of its results that
/// stayed on the device. Takes a lock and memory, so no handler that never returns may interrupt it.
void add_decision(const operation::Operation& operation, Refusal refusal, const Prediction& predicted, double seconds,
                  std::uint64_t left_bytes);

/// The decisions whose calls took most time, longest first.
std::vector<Decisions> dearest_decisions();

/// For the child of a fork.
void forget_decisions();

/// The decisions as a table; "" if there are none.
std::string to_text(const std::vector<Decisions>& decisions);

}  // namespace blastoff::report
