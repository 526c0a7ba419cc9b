// cuSOLVER's handle for one stream, and what the routines of every family need: work space, copies, and checks of
// results.
#pragma once

#include <fmt/format.h>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "blas/types.h"
#include "device/gpu/cuda/cublas/operations.h"
#include "device/gpu/cuda/cusolver/library.h"
#include "device/gpu/executor.h"
#include "device/gpu/matrix_kernels.h"
#include "device/gpu/memory.h"
#include "device/gpu/page_memory.h"
#include "operation/operand.h"

namespace blastoff::device::gpu::cuda {

/// Memory that an operation of a solver needs besides the operands. Each executor has one. Device memory belongs to it
/// during an operation, and to the device's pool of workspaces between operations; host memory is kept.
class SolverWorkspace {
 public:
  /// The use of device memory; each purpose has its own memory.
  enum class Purpose : std::uint8_t { checks, vector, matrix, second_matrix, third_matrix, fourth_matrix, library };

  enum class HostPurpose : std::uint8_t { library, transfers };

  SolverWorkspace(std::shared_ptr<Memory> memory, StreamHandle stream) : memory_(std::move(memory)), stream_(stream) {}

  /// The operation is over, and nothing of it runs any more.
  void release() {
    for (PooledMemory& each : device_) each = {};
  }

  /// Device memory of at least `bytes`, with undefined contents. Ends the use of memory that this operation was given
  /// for the same purpose before. ErrorKind::out_of_memory if there is none, even after all unused memory has been
  /// freed.
  Result<Address> device(Purpose purpose, std::size_t bytes) {
    PooledMemory& memory = device_[static_cast<std::size_t>(purpose)];
    return memory_->grow(memory, bytes, stream_).map([&] { return memory.address(); });
  }

  /// The same in host memory.
  Result<void*> host(HostPurpose purpose, std::size_t bytes) {
    PageMemory& memory = host_[static_cast<std::size_t>(purpose)];
    if (bytes > memory.bytes() || memory.address() == nullptr) {
      memory = PageMemory();
      memory = PageMemory(bytes);
    }
    if (memory.address() != nullptr) return memory.address();
    return tl::unexpected(
        Error{ErrorKind::out_of_memory, fmt::format("no {} bytes of host memory for cuSOLVER", bytes)});
  }

 private:
  const std::shared_ptr<Memory> memory_;
  const StreamHandle stream_;
  std::array<PooledMemory, 7> device_;
  std::array<PageMemory, 2> host_{};
};

/// Blastoff's own kernels for solvers, compiled once for each device.
struct MatrixKernels {
  std::unique_ptr<MagnitudeKernel> magnitude;
  std::unique_ptr<NormKernel> norm;
  std::unique_ptr<TransposeKernel> transpose;
};

using operation::Operand;

/// cuSOLVER, and cuBLAS for routines that cuSOLVER lacks.
struct Libraries {
  api::Cusolver cusolver;
  Result<api::Cublas> cublas;
};

/// The work space for a call of the library, as its 64-bit interface takes it.
struct LibrarySpace {
  void* device = nullptr;
  std::size_t device_bytes = 0;
  void* host = nullptr;
  std::size_t host_bytes = 0;
  int* info = nullptr;  ///< in device memory
};

/// The context must be current in all functions. Functions that return results wait for them.
class Solver {
 public:
  using Purpose = SolverWorkspace::Purpose;

  /// The libraries must outlive it. The stream must have a triangle kernel.
  static Result<std::unique_ptr<Solver>> create(const Libraries& libraries, const ExecutorStream& stream,
                                                std::shared_ptr<const MatrixKernels> kernels);
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  const api::Cusolver& cusolver() const { return libraries_.cusolver; }
  /// Made when it is first used. ErrorKind::unsupported if there is no cuBLAS.
  Result<const BlasHandle*> cublas();
  api::cusolverHandle handle() const { return handle_; }
  api::cusolverParams params() const { return params_; }
  SolverWorkspace& workspace() { return workspace_; }
  /// The operation is over. (One that failed may have left work.)
  void end_operation() {
    (void)synchronize();
    workspace_.release();
  }

  /// Runs a routine: `size(device_bytes, host_bytes)` asks how much work space the routine wants, `call(space)` calls
  /// the routine. ErrorKind::failed if its info is not 0.
  template <class Size, class Call>
  Status run(std::string_view name, Size&& size, Call&& call) {
    LibrarySpace space;
    if (auto ok = check(size(&space.device_bytes, &space.host_bytes), name); !ok) return ok;
    if (auto ok = provide(space); !ok) return ok;
    if (auto ok = check(call(std::as_const(space)), name); !ok) return ok;
    return finish(name);
  }

  /// The same for the 32-bit interface, whose work space is counted in elements: `size(elements)`,
  /// `call(work, elements, info)`.
  template <class Size, class Call>
  Status run_in_elements(std::string_view name, std::size_t element_bytes, Size&& size, Call&& call) {
    int elements = 0;
    return run(
        name,
        [&](std::size_t* device_bytes, std::size_t*) {
          const api::cusolverStatus status = size(&elements);
          *device_bytes = static_cast<std::size_t>(elements) * element_bytes;
          return status;
        },
        [&](const LibrarySpace& space) { return call(space.device, elements, space.info); });
  }

  /// The same for a routine without work space: `call(info)`.
  template <class Call>
  Status run_without_space(std::string_view name, Call&& call) {
    return run(
        name, [](std::size_t*, std::size_t*) { return api::solver_success; },
        [&](const LibrarySpace& space) { return call(space.info); });
  }

  /// A matrix without gaps between columns, in the work space.
  Result<Operand> matrix(Purpose purpose, std::int64_t rows, std::int64_t columns, std::size_t element_size);
  /// A copy of the matrix's part in the work space; nothing else of the matrix is read.
  Result<Operand> copy_of(const Operand& matrix, Purpose purpose);
  /// The place where a routine computes a result if it writes between the columns too (seen with gesvdp): the matrix
  /// itself, if nothing is between its columns, or one in the work space.
  Result<Operand> without_gaps(const Operand& result, Purpose purpose);
  /// Copies the part of `from` to a matrix of the same size.
  Status copy(const Operand& to, const Operand& from);
  /// The transpose; for complex matrices the conjugate transpose.
  Status transpose(const Operand& to, const Operand& from, blas::Scalar scalar);
  Status set_to_identity(const Operand& matrix, blas::Scalar scalar);

  /// The elements of a matrix without gaps between columns.
  Result<std::vector<std::complex<double>>> elements(const Operand& matrix, blas::Scalar scalar);

  Status copy_to_host(void* to, Address from, std::size_t bytes);
  /// `to` must be PageMemory.
  Status copy_to_pages(void* to, Address from, std::size_t bytes);
  Status copy_to_device(Address to, const void* from, std::size_t bytes);

  /// The largest magnitude in the parts of all matrices; NaN if one of them holds NaN.
  Result<double> largest_magnitude(std::span<const Operand> matrices, blas::Scalar scalar);
  /// A number for each column or row of a matrix, or several, which belong together in the same way.
  Result<std::vector<double>> reduce(const Operand& matrix, blas::Scalar scalar,
                                     const NormKernel::Reduction& reduction);

 private:
  Solver(const Libraries& libraries, const ExecutorStream& stream, std::shared_ptr<const MatrixKernels> kernels)
      : libraries_(libraries),
        stream_(stream),
        kernels_(std::move(kernels)),
        workspace_(stream.memory, stream.stream) {}

  Status configure();
  Status provide(LibrarySpace& space);
  Status finish(std::string_view name);
  Status copy_rectangle(const Operand& to, const Operand& from);
  Status synchronize();
  const Driver& driver() const { return stream_.context->driver(); }

  /// Turns a status into a Status. An error that has destroyed the context loses the device; lack of memory or of
  /// support does not.
  Status check(api::cusolverStatus status, std::string_view name);

  const Libraries& libraries_;
  const ExecutorStream stream_;
  const std::shared_ptr<const MatrixKernels> kernels_;
  SolverWorkspace workspace_;
  api::cusolverHandle handle_ = nullptr;
  api::cusolverParams params_ = nullptr;
  std::unique_ptr<BlasHandle> blas_handle_;
};

}  // namespace blastoff::device::gpu::cuda
