#include "intercept/front_ends.h"

#include "fft/execution.h"

namespace blastoff::intercept {
namespace {

static_assert(blas::routine_count + lapack::routine_count + 3 * fft::front_end_routines + scalapack::routine_count +
                  blas::vector_routine_count <=
              operation::max_routines);

constexpr std::array tables = {&blas_routines, &lapack_routines, &fft_routines, &scalapack_routines, &vector_routines};

}  // namespace

std::span<const RoutineTable* const> front_ends() {
  return tables;
}

}  // namespace blastoff::intercept
