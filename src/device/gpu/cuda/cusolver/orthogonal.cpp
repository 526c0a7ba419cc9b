// QR factorization, and its orthogonal factor.
#include "device/gpu/cuda/cusolver/task.h"

namespace blastoff::device::gpu::cuda {
namespace {

using lapack::Action;
using lapack::Argument;

int narrow(std::int64_t size) {
  return static_cast<int>(size);
}

Status factor(const Task& task) {
  const auto tau = factor_orthogonal(task, task.matrix(Argument::a));
  return tau ? task.stage(Argument::tau, *tau) : tl::unexpected(tau.error());
}

/// The program's tau, copied to device memory.
Result<void*> given_tau(const Task& task) {
  const auto given = task.results.given(Argument::tau);
  auto tau = task.vector(given.size());
  if (!tau) return tau;
  const auto ok = task.solver.copy_to_device(reinterpret_cast<std::uintptr_t>(*tau), given.data(), given.size());
  if (!ok) return tl::unexpected(ok.error());
  return tau;
}

Status generate(const Task& task, void* tau) {
  const api::Cusolver& library = task.cusolver();
  const std::size_t scalar = task.scalar_index();
  const Operand a = task.matrix(Argument::a);
  const int m = narrow(a.rows);
  const int n = narrow(a.columns);
  const int k = narrow(task.problem.k);
  const int lda = narrow(a.leading_dimension);
  return task.solver.run_in_elements(
      "orgqr", a.element_size,
      [&](int* elements) { return library.orgqr_size[scalar](task.handle(), m, n, k, a.address, lda, tau, elements); },
      [&](void* work, int elements, int* info) {
        return library.orgqr[scalar](task.handle(), m, n, k, a.address, lda, tau, work, elements, info);
      });
}

}  // namespace

Result<void*> factor_orthogonal(const Task& task, const Operand& a) {
  const api::Cusolver& library = task.cusolver();
  auto tau = task.vector(static_cast<std::size_t>(task.problem.min_side()) * a.element_size);
  if (!tau) return tau;
  const auto factored = task.solver.run(
      "geqrf",
      [&](std::size_t* device, std::size_t* host) {
        return library.cusolverDnXgeqrf_bufferSize(task.handle(), task.params(), a.rows, a.columns, task.type(),
                                                   a.address, a.leading_dimension, task.type(), *tau, task.type(),
                                                   device, host);
      },
      [&](const LibrarySpace& space) {
        return library.cusolverDnXgeqrf(task.handle(), task.params(), a.rows, a.columns, task.type(), a.address,
                                        a.leading_dimension, task.type(), *tau, task.type(), space.device,
                                        space.device_bytes, space.host, space.host_bytes, space.info);
      });
  if (!factored) return tl::unexpected(factored.error());
  return tau;
}

Status multiply_orthogonal(const Task& task, const Operand& a, int side, int operation, std::int64_t reflectors,
                           void* tau) {
  const api::Cusolver& library = task.cusolver();
  const std::size_t scalar = task.scalar_index();
  const Operand c = task.matrix(Argument::b);
  const int m = narrow(c.rows);
  const int n = narrow(c.columns);
  const int k = narrow(reflectors);
  const int lda = narrow(a.leading_dimension);
  const int ldc = narrow(c.leading_dimension);
  return task.solver.run_in_elements(
      "ormqr", a.element_size,
      [&](int* elements) {
        return library.ormqr_size[scalar](task.handle(), side, operation, m, n, k, a.address, lda, tau, c.address, ldc,
                                          elements);
      },
      [&](void* work, int elements, int* info) {
        return library.ormqr[scalar](task.handle(), side, operation, m, n, k, a.address, lda, tau, c.address, ldc, work,
                                     elements, info);
      });
}

Status run_orthogonal(const Task& task) {
  if (task.kind().action == Action::factor) return factor(task);
  if (auto ok = task.require_32_bits(); !ok) return ok;
  const auto tau = given_tau(task);
  if (!tau) return tl::unexpected(tau.error());
  if (task.kind().action == Action::generate) return generate(task, *tau);
  const int side = task.problem.side == 'l' ? api::side_left : api::side_right;
  return multiply_orthogonal(task, task.matrix(Argument::a), side, task.operation_code(), task.problem.k, *tau);
}

}  // namespace blastoff::device::gpu::cuda
