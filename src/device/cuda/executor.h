// Operations run by NVIDIA's libraries: each library is opened at its first use and may be absent.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/context.h"
#include "device/cuda/memory.h"
#include "device/cuda/triangle_kernel.h"
#include "device/library.h"
#include "operation/operation.h"

namespace blastoff::device::cuda {

/// A library's operations on one stream. The context is current in all calls.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Queues the operation; operand addresses are device addresses.
  virtual Status execute(const operation::Operation& operation) = 0;

  /// Whether executing this now copies between the GPU and memory that the library allocates by malloc. Such memory may
  /// not lie on pages that are page-locked for results, as the program's freed matrices are: copies that are expected
  /// to wait would no longer wait (measured: cuSOLVER overwrote memory that it had freed), and copies of memory that is
  /// page-locked in part fail.
  virtual bool copies_heap_memory(const operation::Operation& operation) const = 0;
};

/// What an executor works with. `kernel` may be null. Where operations need device memory besides operands, that is a
/// Workspace of `memory`.
struct ExecutorStream {
  std::shared_ptr<Context> context;
  std::shared_ptr<Memory> memory;
  std::shared_ptr<const TriangleKernel> kernel;
  api::CUstream stream = nullptr;
  std::size_t workspace_bytes = 0;  ///< that suit this GPU's matrix kernels
};

/// A library that has been opened. Thread-safe; outlives its executors.
class ExecutorLibrary {
 public:
  virtual ~ExecutorLibrary() = default;
  virtual std::string version() const = 0;  ///< "cuBLAS 13.0.2"
  virtual Result<std::unique_ptr<Executor>> create(const ExecutorStream& stream) const = 0;
};

/// Where libraries are looked for.
struct LibrarySearch {
  std::string cuda_path;   ///< an extra directory that comes first, may be empty
  int driver_version = 0;  ///< as cuDriverGetVersion says it
};

/// A library that is perhaps there, and the operations that it runs.
struct ExecutorKind {
  bool (*runs)(const operation::Operation& operation);
  /// The error is one line: what is missing, where it was looked for, what to do.
  Result<std::unique_ptr<ExecutorLibrary>> (*open)(const LibrarySearch& search);
  bool copies_heap_memory = false;  ///< making an executor does: see Executor
  const char* computes = "";        ///< what users call these operations: "LAPACK"
};

/// All libraries. The first one that runs an operation is used.
std::span<const ExecutorKind> executor_kinds();

/// The libraries of one device. Thread-safe.
class ExecutorLibraries {
 public:
  ExecutorLibraries(std::span<const ExecutorKind> kinds, LibrarySearch search)
      : kinds_(kinds), search_(std::move(search)), opened_(kinds.size()) {}

  /// A device for which no library is there is of no use: opens the first that is. The error is that of the first kind.
  Status require_any();

  /// Which of the kinds runs an operation: the index for opened(). The error is ErrorKind::unsupported.
  Result<std::size_t> kind_for(const operation::Operation& operation) const;

  /// Opened at the first use; if it is absent, now and later: ErrorKind::unsupported.
  Result<const ExecutorLibrary*> opened(std::size_t kind);

  std::size_t count() const { return kinds_.size(); }
  bool copies_heap_memory(std::size_t kind) const { return kinds_[kind].copies_heap_memory; }

  /// All kinds, opened now.
  std::vector<Library> all();

  /// ", cuBLAS 13.0.2": the versions of those that have been opened.
  std::string versions();

 private:
  using Opened = Result<std::unique_ptr<ExecutorLibrary>>;

  const Opened& open(std::size_t kind);  ///< under the mutex

  const std::span<const ExecutorKind> kinds_;
  const LibrarySearch search_;
  std::mutex mutex_;
  std::vector<std::optional<Opened>> opened_;
};

}  // namespace blastoff::device::cuda
