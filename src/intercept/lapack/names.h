// The names of the LAPACK routines.
#pragma once

#include <array>
#include <string_view>

#include "lapack/routine.h"

namespace blastoff::intercept {

/// Indexed by the number of the routine.
inline constexpr std::array<std::string_view, lapack::routine_count> lapack_names = {
#define BLASTOFF_NAME(name, kind, scalar) #name,
    BLASTOFF_LAPACK_ROUTINES(BLASTOFF_NAME)
#undef BLASTOFF_NAME
};

}  // namespace blastoff::intercept
