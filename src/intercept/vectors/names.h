// The names of the routines of level 1.
#pragma once

#include <array>
#include <string_view>

#include "blas/vector_routine.h"

namespace blastoff::intercept {

/// Indexed by blas::VectorRoutine.
inline constexpr std::array<std::string_view, blas::vector_routine_count> vector_names = {
#define BLASTOFF_NAME(name, kind, scalar, factor) #name,
    BLASTOFF_VECTOR_ROUTINES(BLASTOFF_NAME)
#undef BLASTOFF_NAME
};

}  // namespace blastoff::intercept
