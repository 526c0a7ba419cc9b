#include "device/gpu/cuda/cusolver/task.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace blastoff::device::gpu::cuda {

Operand Task::matrix(lapack::Argument argument) const {
  Operand matrix = operation.operands()[lapack::operand_index(problem.routine, argument)];
  if (matrix.empty()) matrix.address = nullptr;
  return matrix;
}

Operand Task::triangle(lapack::Argument argument) const {
  Operand matrix = this->matrix(argument);
  if (problem.packed()) return matrix;
  matrix.part = problem.upper() ? operation::Part::upper : operation::Part::lower;
  return matrix;
}

int Task::type() const {
  static constexpr int types[] = {api::type_real_32, api::type_real_64, api::type_complex_32, api::type_complex_64};
  return types[scalar_index()];
}

int Task::real_type() const {
  return problem.real_bytes() == sizeof(float) ? api::type_real_32 : api::type_real_64;
}

int Task::operation_code() const {
  if (problem.trans == 'n') return api::operation_none;
  const bool conjugate = problem.trans == 'c' && blas::is_complex(problem.scalar());
  return conjugate ? api::operation_conjugate : api::operation_transpose;
}

Status Task::require_32_bits() const {
  const auto operands = operation.operands();
  const bool fits = std::all_of(operands.begin(), operands.end(), [](const Operand& operand) {
    return std::max({operand.rows, operand.columns, operand.leading_dimension}) <= INT32_MAX;
  });
  if (fits) return {};
  return tl::unexpected(
      Error{ErrorKind::unsupported, fmt::format("cuSOLVER's {} has no 64-bit interface", operation.name())});
}

Result<void*> Task::vector(std::size_t bytes) const {
  const auto memory = solver.workspace().device(Solver::Purpose::vector, bytes);
  if (!memory) return tl::unexpected(memory.error());
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(*memory));
}

Result<std::vector<double>> real_numbers(const Task& task, void* device, std::int64_t count) {
  const bool single = task.problem.real_bytes() == sizeof(float);
  const Operand column{.address = device,
                       .rows = count,
                       .columns = 1,
                       .leading_dimension = count,
                       .element_size = task.problem.real_bytes()};
  const auto elements = task.solver.elements(column, single ? blas::Scalar::s : blas::Scalar::d);
  if (!elements) return tl::unexpected(elements.error());
  std::vector<double> values(elements->size());
  std::transform(elements->begin(), elements->end(), values.begin(),
                 [](std::complex<double> element) { return element.real(); });
  return values;
}

Status Task::stage(lapack::Argument argument, const void* device, std::size_t offset) const {
  const std::span<std::byte> to = results.stage(argument);
  return solver.copy_to_host(to.data(), reinterpret_cast<std::uintptr_t>(device) + offset, to.size());
}

}  // namespace blastoff::device::gpu::cuda
