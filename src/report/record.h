// The input of reports: one record for each call.
#pragma once

#include <cstdint>
#include <string>

#include "operation/operation.h"
#include "report/refusal.h"

namespace blastoff::report {

/// One call.
struct Record {
  operation::RoutineId routine{};
  const char* symbol = "";  ///< the name that the program called
  Refusal refusal = Refusal::none;
  const char* policy = "";       ///< policy that ran the call ("first-use", "copy"); "" on the CPU
  bool operands_kept = false;    ///< the policy keeps operands on the device
  int parts = 1;                 ///< number of devices that computed it at once
  bool followed = false;         ///< all ranks of a grid make the call, and another one counts it for the job
  bool queues_at_once = false;   ///< the call found an idle set of queues of the device
  bool runs_on = false;          ///< it returned while the device still computed
  const void* caller = nullptr;  ///< where the call returns to
  double seconds = 0;            ///< wall time of the whole call
  double wall_seconds = 0;       ///< the call's part of the process's wall time (report/wall_time.h)
  double known_cpu_seconds = 0;  ///< what wall_seconds would have been on the CPU, by measured times; 0: unknown
  double share = 1;              ///< CallTime::share
  double cpu_seconds = 0;        ///< what the CPU is expected to take for the whole call; 0: unknown
  double transfer_seconds = 0;   ///< part of `seconds` in which the call only waited for data
  std::uint64_t bytes_to_device = 0;
  std::uint64_t bytes_from_device = 0;
  std::uint64_t bytes_reused = 0;
  std::uint64_t bytes_met = 0;   ///< residency::Traffic
  std::uint64_t bytes_read = 0;  ///< of matrices that the device read for the call, including bytes_reused
  std::uint64_t bytes_between_devices = 0;
  std::uint64_t bytes_left = 0;  ///< of results that stay on the device
  std::uint64_t bytes_rewritten = 0;
  std::uint64_t page_faults = 0;  ///< of the CPU since the operands were last used, which it wrote; as far as known
  double flops = 0;
  double volume = 0;          ///< operation::Work::volume
  bool verified = false;      ///< compared with the CPU
  double relative_error = 0;  ///< found by the comparison, scaled as in blas/verification.h
  bool violated = false;      ///< the error is above its bound, or there are stale pages
  std::uint64_t stale_pages = 0;
  std::string* places = nullptr;  ///< where the matrices were, before > after the call; only for a line of --log calls
};

}  // namespace blastoff::report
