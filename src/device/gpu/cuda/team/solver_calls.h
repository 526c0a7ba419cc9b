// Factorizations, solutions and eigenproblems that a team makes by cuSOLVERMp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/gpu/cuda/team/library.h"
#include "device/gpu/cuda/team/place.h"
#include "device/gpu/matrix_kernels.h"
#include "device/team.h"
#include "lapack/problem.h"

namespace blastoff::device::gpu::cuda {

/// Whether cuSOLVERMp makes the call of an operation.
bool is_solvers(const operation::Operation& operation);

/// The library's side of device::Team.
class SolverCalls {
 public:
  SolverCalls(const api::CusolverMp& library, const Place& place)
      : library_(library), place_(place), results_(*place.memory) {}
  ~SolverCalls() { forget_matrices(); }
  SolverCalls(const SolverCalls&) = delete;
  SolverCalls& operator=(const SolverCalls&) = delete;

  Status prepare(const operation::Operation& operation, std::span<const TeamPart> parts, std::int64_t block,
                 Space& space);
  Status queue(Space& space);
  /// Once the call has been made: writes the vectors of the operation. ErrorKind::failed: the results are not finite,
  /// or the matrix is singular, whatever the library says.
  Status take_results(const Space& space);

 private:
  Status make_grid();
  void forget_matrices();
  int uplo() const { return problem_.upper() ? api::fill_upper : api::fill_lower; }
  int type() const { return data_type(problem_.scalar()); }
  void* part(std::size_t index) const { return pointer(parts_[index].address); }
  template <class Visit>
  int call(const Visit& visit) const;

  std::size_t vector_bytes() const;
  std::size_t vectors_bytes() const;
  std::int64_t* pivots() const { return static_cast<std::int64_t*>(pointer(results_.address())); }
  char* vector(lapack::Argument argument) const;
  Status check_matrices(const Space& space);
  Status check_diagonal() const;
  Status take_values() const;
  Status take_pivots() const;
  Status copy_to_host(void* host, Address address, std::size_t bytes) const;
  Status synchronize() const;
  template <class Visit>
  void each_block(const operation::Operand& whole, const Visit& visit) const;

  const api::CusolverMp& library_;
  const Place& place_;
  api::solverMpHandle handle_ = nullptr;  // lives as long as the process, as the grid does
  api::solverMpGrid grid_ = nullptr;
  GrowingMemory results_;  ///< pivots, or eigenvalues and then eigenvectors
  operation::Operation operation_;
  lapack::Problem problem_{};
  std::vector<TeamPart> parts_;
  std::int64_t block_ = 1;
  std::vector<api::solverMpMatrix> matrices_;
  std::unique_ptr<MagnitudeKernel> magnitude_;
};

}  // namespace blastoff::device::gpu::cuda
