// The names of the BLAS routines.
#pragma once

#include <array>
#include <string_view>

#include "blas/routine.h"

namespace blastoff::intercept {

/// Indexed by the number of the routine.
inline constexpr std::array<std::string_view, blas::routine_count> blas_names = {
#define BLASTOFF_NAME(name, kind, scalar) #name,
    BLASTOFF_ROUTINES(BLASTOFF_NAME)
#undef BLASTOFF_NAME
};

}  // namespace blastoff::intercept
