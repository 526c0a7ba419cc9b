// The input of reports: one record for each call.
#pragma once

#include <cstdint>
#include <string>

#include "operation/operation.h"
#include "operation/traffic.h"
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
  bool inside = false;           ///< CallTime::inside
  double cpu_seconds = 0;        ///< what the CPU is expected to take for the whole call; 0: unknown
  operation::TrafficCounters traffic = {};
  double flops = 0;
  double volume = 0;              ///< operation::Work::volume
  bool verified = false;          ///< compared with the CPU
  double relative_error = 0;      ///< found by the comparison, scaled as in blas/verification.h
  bool violated = false;          ///< the error is above its bound, or there are stale pages
  std::string* places = nullptr;  ///< where the matrices were, before > after the call; for --log calls and --trace
};

}  // namespace blastoff::report
