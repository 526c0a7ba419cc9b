// The names of ScaLAPACK's routines.
#pragma once

#include <array>
#include <string_view>

#include "scalapack/routine.h"

namespace blastoff::intercept {

/// Indexed by the number of the routine.
inline constexpr std::array<std::string_view, scalapack::routine_count> scalapack_names = {
#define BLASTOFF_NAME(name, kind, scalar, library, local, words) #name,
    BLASTOFF_SCALAPACK_ROUTINES(BLASTOFF_NAME)
#undef BLASTOFF_NAME
};

}  // namespace blastoff::intercept
