// Eigenvalues in a range of values. All are computed and some are chosen, since the program may have room for these
// alone.
#include <algorithm>
#include <cmath>

#include "device/gpu/cuda/cusolver/task.h"

namespace blastoff::device::gpu::cuda {
namespace {

using lapack::Argument;

Error failed(const char* message) {
  return {ErrorKind::failed, message};
}

/// Whether an eigenvalue is so near to an end of the range that rounding errors decide whether it is inside. These
/// errors are in proportion to the largest eigenvalue.
bool in_doubt(const lapack::Problem& problem, const std::vector<double>& values) {
  const double largest = std::max(std::abs(values.front()), std::abs(values.back()));
  const double error = std::sqrt(static_cast<double>(problem.n)) * blas::machine_epsilon(problem.scalar()) * largest;
  return std::any_of(values.begin(), values.end(), [&](double value) {
    return std::abs(value - problem.vl) <= error || std::abs(value - problem.vu) <= error;
  });
}

/// `columns` must follow each other without gaps.
Status stage_eigenvectors(const Task& task, const Operand& columns) {
  const auto largest = task.solver.largest_magnitude({&columns, 1}, task.problem.scalar());
  if (!largest) return tl::unexpected(largest.error());
  if (!std::isfinite(*largest)) return tl::unexpected(failed("cuSOLVER's eigenvectors hold NaN or infinity"));
  std::byte* const to = task.results.stage_eigenvectors();
  if (to == nullptr) return tl::unexpected(Error{ErrorKind::out_of_memory, "no host memory for eigenvectors"});
  return task.solver.copy_to_pages(to, reinterpret_cast<std::uintptr_t>(columns.address), columns.payload_bytes());
}

}  // namespace

Status return_range_of_values(const Task& task, const Operand& vectors, void* w) {
  const auto values = real_numbers(task, w, task.problem.n);
  if (!values) return tl::unexpected(values.error());
  const bool finite = std::all_of(values->begin(), values->end(), [](double value) { return std::isfinite(value); });
  if (!finite || !std::is_sorted(values->begin(), values->end()))
    return tl::unexpected(failed("cuSOLVER's eigenvalues are not finite, or not in order"));
  if (in_doubt(task.problem, *values)) return tl::unexpected(failed("an eigenvalue is at an end of the range"));
  const auto first = std::upper_bound(values->begin(), values->end(), task.problem.vl);
  const auto last = std::upper_bound(values->begin(), values->end(), task.problem.vu);
  const auto skipped = static_cast<std::size_t>(first - values->begin());
  task.results.set_found(last - first);
  if (first == last) return {};
  if (auto ok = task.stage(Argument::w, w, skipped * task.problem.real_bytes()); !ok) return ok;
  if (!task.problem.wants_vectors()) return {};
  Operand columns = vectors;
  columns.address = static_cast<std::byte*>(columns.address) + skipped * columns.stride_bytes();
  columns.columns = task.results.found();
  columns.part = operation::Part::full;
  return stage_eigenvectors(task, columns);
}

}  // namespace blastoff::device::gpu::cuda
