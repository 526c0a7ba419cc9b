// What reporting is told: one record per call.
#pragma once

#include <cstdint>

#include "operation/operation.h"

namespace blastoff::report {

/// Why a call stayed on the CPU. Texts are in refusal_text().
enum class Refusal : std::uint8_t {
  none,               ///< it was offloaded
  below_min_size,     ///< average size under the threshold
  too_shallow,        ///< too few operations for each element of the result
  not_reused,         ///< pays on resident operands only, and such calls have found none
  trivial,            ///< alpha == 0, k == 0 or an empty result: nothing to compute
  invalid_arguments,  ///< the original reports them
  device_none,        ///< --device none
  no_device,          ///< no GPU, driver or cuBLAS, or a wrong version
  device_lost,        ///< the device failed earlier or during this call
  out_of_memory,      ///< does not fit the device, even by copying
  unsupported,        ///< the device cannot do this operation
  forked,             ///< a child of fork: CUDA does not survive it
  exiting,            ///< the process is ending
};
inline constexpr int refusal_count = 11;
const char* refusal_text(Refusal refusal);

/// One call, as it went.
struct Record {
  operation::RoutineId routine{};
  const char* symbol = "";  ///< the name that the program called
  Refusal refusal = Refusal::none;
  const char* policy = "";      ///< the policy that ran it ("first-use", "copy"), "" on the CPU
  bool operands_kept = false;   ///< on the device, by that policy
  double seconds = 0;           ///< wall time of the whole call
  double transfer_seconds = 0;  ///< of that, waiting for data only
  std::uint64_t bytes_to_device = 0;
  std::uint64_t bytes_from_device = 0;
  std::uint64_t bytes_reused = 0;
  double flops = 0;
  bool verified = false;      ///< compared with the CPU
  double relative_error = 0;  ///< of the comparison, scaled as in runtime/verify.h
  std::uint64_t stale_pages = 0;
};

}  // namespace blastoff::report
