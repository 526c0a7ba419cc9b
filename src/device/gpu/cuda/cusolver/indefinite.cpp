// Symmetric indefinite matrices, by the method of Bunch and Kaufman.
#include <vector>

#include "device/gpu/cuda/cusolver/task.h"

namespace blastoff::device::gpu::cuda {
namespace {

using lapack::Action;
using lapack::Argument;

std::uintptr_t address_of(void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

/// ErrorKind::failed if D is singular. The library reports that, except for a first row and column of zeros
/// (CUDA 13.0).
Status require_regular(const Task& task, const Operand& factors, const std::vector<std::int64_t>& pivots) {
  Operand diagonal = factors;
  diagonal.rows = 1;
  diagonal.leading_dimension += 1;
  diagonal.part = operation::Part::full;
  const auto copied = task.solver.copy_of(diagonal, Solver::Purpose::second_matrix);
  if (!copied) return tl::unexpected(copied.error());
  const auto elements = task.solver.elements(*copied, task.problem.scalar());
  if (!elements) return tl::unexpected(elements.error());
  for (std::size_t i = 0; i < pivots.size(); ++i)
    if (pivots[i] == 0 || (pivots[i] > 0 && (*elements)[i] == 0.0))
      return tl::unexpected(Error{ErrorKind::failed, "the matrix is singular"});
  return {};
}

/// Factors the triangle in place. Stages the pivots, and returns them.
Result<std::vector<std::int64_t>> factor(const Task& task, const Operand& a) {
  const api::Cusolver& library = task.cusolver();
  const std::size_t scalar = task.scalar_index();
  const int order = static_cast<int>(a.columns);
  const int lda = static_cast<int>(a.leading_dimension);
  std::vector<int> narrow(static_cast<std::size_t>(order));
  const std::size_t bytes = narrow.size() * sizeof narrow[0];
  const auto memory = task.vector(bytes);
  if (!memory) return tl::unexpected(memory.error());
  const auto factored = task.solver.run_in_elements(
      "sytrf", a.element_size,
      [&](int* elements) { return library.sytrf_size[scalar](task.handle(), order, a.address, lda, elements); },
      [&](void* work, int elements, int* info) {
        return library.sytrf[scalar](task.handle(), task.fill(), order, a.address, lda, static_cast<int*>(*memory),
                                     work, elements, info);
      });
  if (!factored) return tl::unexpected(factored.error());
  if (auto ok = task.solver.copy_to_host(narrow.data(), address_of(*memory), bytes); !ok)
    return tl::unexpected(ok.error());
  std::vector<std::int64_t> pivots(narrow.begin(), narrow.end());
  if (auto ok = require_regular(task, a, pivots); !ok) return tl::unexpected(ok.error());
  task.results.stage_integers(Argument::ipiv, pivots);
  return pivots;
}

/// The pivots that the program gave. A pivot out of range would make the GPU exchange rows that do not exist.
Result<std::vector<std::int64_t>> given_pivots(const Task& task) {
  std::vector<std::int64_t> pivots = task.results.given_integers(Argument::ipiv);
  for (const std::int64_t pivot : pivots) {
    const std::int64_t row = pivot < 0 ? -pivot : pivot;
    if (row < 1 || row > task.problem.n)
      return tl::unexpected(Error{ErrorKind::failed, "a pivot is not the number of a row"});
  }
  return pivots;
}

Status solve(const Task& task, const Operand& a, const std::vector<std::int64_t>& pivots, const Operand& b) {
  const api::Cusolver& library = task.cusolver();
  const std::size_t bytes = pivots.size() * sizeof pivots[0];
  const auto memory = task.vector(bytes);
  if (!memory) return tl::unexpected(memory.error());
  if (auto ok = task.solver.copy_to_device(address_of(*memory), pivots.data(), bytes); !ok) return ok;
  const auto* const rows = static_cast<const std::int64_t*>(*memory);
  return task.solver.run(
      "sytrs",
      [&](std::size_t* device, std::size_t* host) {
        return library.cusolverDnXsytrs_bufferSize(task.handle(), task.fill(), a.columns, b.columns, task.type(),
                                                   a.address, a.leading_dimension, rows, task.type(), b.address,
                                                   b.leading_dimension, device, host);
      },
      [&](const LibrarySpace& space) {
        return library.cusolverDnXsytrs(task.handle(), task.fill(), a.columns, b.columns, task.type(), a.address,
                                        a.leading_dimension, rows, task.type(), b.address, b.leading_dimension,
                                        space.device, space.device_bytes, space.host, space.host_bytes, space.info);
      });
}

}  // namespace

Status run_indefinite(const Task& task) {
  if (auto ok = task.require_32_bits(); !ok) return ok;
  const Operand a = task.matrix(Argument::a);
  if (task.kind().action == Action::solve) {
    const auto pivots = given_pivots(task);
    return pivots ? solve(task, a, *pivots, task.matrix(Argument::b)) : tl::unexpected(pivots.error());
  }
  // A copy, since the library may overwrite the other triangle, which belongs to the program.
  const auto factors = task.solver.copy_of(a, Solver::Purpose::matrix);
  if (!factors) return tl::unexpected(factors.error());
  const auto pivots = factor(task, *factors);
  if (!pivots) return tl::unexpected(pivots.error());
  if (task.kind().action == Action::factor_and_solve) {
    if (auto ok = solve(task, *factors, *pivots, task.matrix(Argument::b)); !ok) return ok;
  }
  return task.solver.copy(a, *factors);
}

}  // namespace blastoff::device::gpu::cuda
