// What reporting is told: one record per call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "operation/operation.h"
#include "report/refusals.def"

namespace blastoff::report {

/// Why a call stayed on the CPU (report/refusals.def).
enum class Refusal : std::uint8_t {
#define BLASTOFF_REFUSAL(name, text) name,
  BLASTOFF_REFUSALS(BLASTOFF_REFUSAL)
#undef BLASTOFF_REFUSAL
};
#define BLASTOFF_ONE(...) +1
inline constexpr std::size_t refusal_count = 0 BLASTOFF_REFUSALS(BLASTOFF_ONE);
#undef BLASTOFF_ONE
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
