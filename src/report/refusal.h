// Why a call stayed on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>

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

}  // namespace blastoff::report
