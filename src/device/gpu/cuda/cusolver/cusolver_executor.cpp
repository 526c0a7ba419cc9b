#include "device/gpu/cuda/executors.h"

#include <cmath>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "device/gpu/cuda/cusolver/library.h"
#include "device/gpu/cuda/cusolver/solver.h"
#include "device/gpu/cuda/cusolver/task.h"
#include "device/gpu/cuda/library_file.h"

namespace blastoff::device::gpu::cuda {
namespace {

using lapack::Argument;
using lapack::Problem;

Error failed(const char* message) {
  return {ErrorKind::failed, message};
}

Status run_family(const Task& task) {
  using lapack::Family;
  switch (task.kind().family) {
    case Family::cholesky: return run_cholesky(task);
    case Family::lu: return run_lu(task);
    case Family::triangle: return run_triangle(task);
    case Family::indefinite: return run_indefinite(task);
    case Family::orthogonal: return run_orthogonal(task);
    case Family::row_exchange: return run_row_exchange(task);
    case Family::copy: return task.solver.copy(task.matrix(Argument::b), task.matrix(Argument::a));
    case Family::norm: return run_norm(task);
    case Family::least_squares: return run_least_squares(task);
    case Family::least_norm: return run_least_norm(task);
    case Family::eigenproblem: return run_eigenproblem(task);
    case Family::generalized_eigenproblem: return run_generalized_eigenproblem(task);
    case Family::reduction: return run_reduction(task);
    case Family::singular_values: return run_singular_values(task);
    case Family::general_eigenproblem: return run_general_eigenproblem(task);
  }
  return {};
}

struct Range {
  double least;
  double largest;
};

/// The range of LAPACK's dgesvd, which is the narrowest. A matrix of zeros is outside, too.
Range safe_range(bool single) {
  const double smallest_normal =
      single ? static_cast<double>(std::numeric_limits<float>::min()) : std::numeric_limits<double>::min();
  const double epsilon =
      single ? static_cast<double>(std::numeric_limits<float>::epsilon()) : std::numeric_limits<double>::epsilon();
  const double least = std::sqrt(smallest_normal) / epsilon;
  return {least, 1 / least};
}

/// The matrices that the operation reads. Only a triangle of a symmetric matrix is input, even if vectors replace the
/// whole matrix.
std::vector<Operand> input(const Task& task) {
  std::vector<Operand> matrices;
  for (const Argument argument : lapack::argument_list(task.problem.routine)) {
    if (!lapack::is_matrix(argument)) continue;
    Operand matrix = task.matrix(argument);
    // The rows for solutions of least norm may hold anything.
    if (argument == Argument::b && task.kind().family == lapack::Family::least_norm) matrix.rows = task.problem.m;
    if (!operation::reads(matrix.intent) || matrix.empty()) continue;
    const bool symmetric = task.problem.uplo != 0 && task.kind().scales;
    matrices.push_back(symmetric ? task.triangle(argument) : matrix);
  }
  return matrices;
}

std::vector<Operand> output(const Task& task) {
  std::vector<Operand> matrices;
  task.operation.each_result([&](std::size_t, const Operand& result) { matrices.push_back(result); });
  return matrices;
}

Status check_input(const Task& task) {
  const Range safe = safe_range(task.problem.real_bytes() == sizeof(float));
  for (const Operand& matrix : input(task)) {
    const auto largest = task.solver.largest_magnitude({&matrix, 1}, task.problem.scalar());
    if (!largest) return tl::unexpected(largest.error());
    if (!std::isfinite(*largest)) return tl::unexpected(failed("the matrix holds NaN or infinity"));
    if (task.kind().scales && (*largest < safe.least || *largest > safe.largest))
      return tl::unexpected(failed("the matrix needs scaling, which cuSOLVER does not do"));
  }
  return {};
}

Status check_output(const Task& task) {
  const auto largest = task.solver.largest_magnitude(output(task), task.problem.scalar());
  if (!largest) return tl::unexpected(largest.error());
  if (std::isfinite(*largest) && task.results.finite()) return {};
  return tl::unexpected(failed("cuSOLVER's result holds NaN or infinity"));
}

Status run(const Task& task) {
  if (task.problem.belongs_to_matrix()) return run_family(task);
  if (auto ok = check_input(task); !ok) return ok;
  if (auto ok = run_family(task); !ok) return ok;
  return check_output(task);
}

class CusolverExecutor final : public Executor {
 public:
  explicit CusolverExecutor(std::unique_ptr<Solver> solver) : solver_(std::move(solver)) {}

  Status execute(const operation::Operation& operation) override {
    const auto problem = operation.payload<Problem>();
    HostResults results(operation, problem);
    auto done = run(Task{*solver_, operation, problem, results});
    solver_->end_operation();
    if (done) results.commit();
    return done;
  }

  bool copies_heap_memory(const operation::Operation& operation) const override {
    return !operation.payload<Problem>().belongs_to_matrix();
  }

 private:
  const std::unique_ptr<Solver> solver_;
};

class CusolverLibrary final : public ExecutorLibrary {
 public:
  explicit CusolverLibrary(Libraries libraries) : libraries_(std::move(libraries)) {}

  std::string version() const override { return version_text("cuSOLVER", libraries_.cusolver.cusolverGetProperty); }

  Result<std::unique_ptr<Executor>> create(const ExecutorStream& stream) const override {
    if (stream.kernel == nullptr) {
      return tl::unexpected(
          Error{ErrorKind::unsupported, "LAPACK needs the triangle copy, which the driver did not compile"});
    }
    auto kernels = matrix_kernels(stream.context);
    if (!kernels) return tl::unexpected(kernels.error());
    auto solver = Solver::create(libraries_, stream, std::move(*kernels));
    if (!solver) return tl::unexpected(solver.error());
    return std::make_unique<CusolverExecutor>(std::move(*solver));
  }

 private:
  /// Compiled once for all streams.
  Result<std::shared_ptr<const MatrixKernels>> matrix_kernels(const std::shared_ptr<Context>& context) const {
    const std::lock_guard lock(mutex_);
    if (kernels_ != nullptr) return kernels_;
    auto magnitude = MagnitudeKernel::load(context);
    if (!magnitude) return tl::unexpected(magnitude.error());
    auto transpose = TransposeKernel::load(context);
    if (!transpose) return tl::unexpected(transpose.error());
    auto norm = NormKernel::load(context);
    if (!norm) return tl::unexpected(norm.error());
    kernels_ = std::make_shared<const MatrixKernels>(
        MatrixKernels{std::move(*magnitude), std::move(*norm), std::move(*transpose)});
    return kernels_;
  }

  const Libraries libraries_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const MatrixKernels> kernels_;
};

}  // namespace

bool runs_by_cusolver(const operation::Operation& operation) {
  return lapack::is_lapack(operation);
}

Result<std::unique_ptr<ExecutorLibrary>> open_cusolver(const LibrarySearch& search) {
  auto cusolver = load_cusolver(search);
  if (!cusolver) return tl::unexpected(cusolver.error());
  return std::make_unique<CusolverLibrary>(Libraries{*cusolver, load_cublas(search.directory, search.driver_version)});
}

}  // namespace blastoff::device::gpu::cuda
