// The input of reporting: one record per call.
#pragma once

#include <cstdint>

#include "operation/operation.h"
#include "report/refusal.h"

namespace blastoff::report {

/// One call.
struct Record {
  operation::RoutineId routine{};
  const char* symbol = "";  ///< the name that the program called
  Refusal refusal = Refusal::none;
  const char* policy = "";       ///< the policy that ran it ("first-use", "copy"), "" on the CPU
  bool operands_kept = false;    ///< on the device, by that policy
  int parts = 1;                 ///< on as many devices at once
  bool lane_at_once = false;     ///< the call found an idle lane of the device
  const void* caller = nullptr;  ///< where the call returns to
  double seconds = 0;            ///< wall time of the whole call
  double wall_seconds = 0;       ///< the call's part of the process's wall time: report/wall_time.h
  double known_cpu_seconds = 0;  ///< what that part would have been on the CPU, by measured times; 0: unknown
  double share = 1;              ///< of the call's time, that part: CallTime::share
  double cpu_seconds = 0;        ///< what the CPU is expected to take for the whole call; 0: unknown
  double transfer_seconds = 0;   ///< of that, waiting for data only
  std::uint64_t bytes_to_device = 0;
  std::uint64_t bytes_from_device = 0;
  std::uint64_t bytes_reused = 0;
  std::uint64_t bytes_met = 0;   ///< residency::Traffic
  std::uint64_t bytes_read = 0;  ///< of matrices that the device read for the call, bytes_reused among them
  std::uint64_t bytes_between_devices = 0;
  std::uint64_t bytes_rewritten = 0;
  std::uint64_t page_faults = 0;  ///< of the CPU since the latest use of its operands, which it wrote, as far as known
  double flops = 0;
  double volume = 0;          ///< operation::Work
  bool verified = false;      ///< compared with the CPU
  double relative_error = 0;  ///< of the comparison, scaled as in blas/verification.h
  bool violated = false;      ///< above its bound, or with stale pages
  std::uint64_t stale_pages = 0;
};

}  // namespace blastoff::report
