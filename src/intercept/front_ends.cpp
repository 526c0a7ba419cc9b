#include "intercept/front_ends.h"

#include "intercept/fft/entry_points.h"
#include "intercept/lapack/entry_points.h"
#include "intercept/level3/entry_points.h"

namespace blastoff::intercept {
namespace {

constexpr std::array tables = {&level3_routines, &lapack_routines, &fft_routines};

}  // namespace

std::span<const RoutineTable* const> front_ends() {
  return tables;
}

}  // namespace blastoff::intercept
