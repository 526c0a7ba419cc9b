// Row exchanges.
#include <vector>

#include "device/gpu/cuda/cusolver/task.h"

namespace blastoff::device::gpu::cuda {

using lapack::Argument;

/// The matrix begins with the first row that is exchanged, so the numbers of rows count from there.
Status run_row_exchange(const Task& task) {
  if (auto ok = task.require_32_bits(); !ok) return ok;
  const lapack::Problem& problem = task.problem;
  const auto first = static_cast<int>(problem.il - problem.k);
  const auto last = static_cast<int>(problem.iu - problem.k);
  std::vector<int> pivots(static_cast<std::size_t>(first - 1));
  for (const std::int64_t row : task.results.given_integers(Argument::ipiv))
    pivots.push_back(static_cast<int>(row - problem.k));
  const std::size_t bytes = pivots.size() * sizeof pivots[0];
  const auto memory = task.vector(bytes);
  if (!memory) return tl::unexpected(memory.error());
  if (auto ok = task.solver.copy_to_device(reinterpret_cast<std::uintptr_t>(*memory), pivots.data(), bytes); !ok)
    return ok;
  const Operand a = task.matrix(Argument::a);
  return task.solver.run_without_space("laswp", [&](int*) {
    return task.cusolver().laswp[task.scalar_index()](task.handle(), static_cast<int>(a.columns), a.address,
                                                      static_cast<int>(a.leading_dimension), first, last,
                                                      static_cast<const int*>(*memory), problem.incx);
  });
}

}  // namespace blastoff::device::gpu::cuda
