// Operations that a vendor's libraries run. Each library is opened when it is first used, and may be absent.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/gpu/context.h"
#include "device/gpu/matrix_kernels.h"
#include "device/gpu/memory.h"
#include "device/library.h"
#include "operation/operation.h"

namespace blastoff::device::gpu {

/// Runs the operations of one library on one stream. The context is current in all calls.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Queues the operation; operand addresses are device addresses.
  virtual Status execute(const operation::Operation& operation) = 0;

  /// Whether executing this operation now copies between the GPU and memory that the library allocates by malloc. Such
  /// memory must not lie on pages that are page-locked for results, as the program's freed matrices may be. On such
  /// pages, copies that are expected to wait would not wait (measured: cuSOLVER overwrote memory that it had freed),
  /// and copies of memory that is page-locked in part fail.
  virtual bool copies_heap_memory(const operation::Operation& operation) const = 0;
};

/// The stream and memory of an executor. `kernel` may be null. Device memory that operations need besides operands
/// comes from the pool of `memory`.
struct ExecutorStream {
  std::shared_ptr<Context> context;
  std::shared_ptr<Memory> memory;
  std::shared_ptr<const TriangleKernel> kernel;
  StreamHandle stream = nullptr;
  std::size_t workspace_bytes = 0;  ///< for matrix kernels on this GPU
};

/// A library that has been opened. Thread-safe; outlives its executors.
class ExecutorLibrary {
 public:
  virtual ~ExecutorLibrary() = default;
  virtual std::string version() const = 0;  ///< "cuBLAS 13.0.2"
  virtual Result<std::unique_ptr<Executor>> create(const ExecutorStream& stream) const = 0;
};

/// Where to look for libraries.
struct LibrarySearch {
  std::string directory;   ///< an extra directory that is searched first, may be empty
  int driver_version = 0;  ///< as Driver::version gives it
};

/// A library that may be absent, and the operations that it runs.
struct ExecutorKind {
  bool (*runs)(const operation::Operation& operation);
  /// The error is one line: what is missing, where it was looked for, what to do.
  Result<std::unique_ptr<ExecutorLibrary>> (*open)(const LibrarySearch& search);
  bool copies_heap_memory = false;  ///< making an executor does so; see Executor
  const char* computes = "";        ///< users' name for these operations: "LAPACK"
};

/// The libraries of one device. The first kind that runs an operation is used. Thread-safe.
class ExecutorLibraries {
 public:
  ExecutorLibraries(std::span<const ExecutorKind> kinds, LibrarySearch search)
      : kinds_(kinds), search_(std::move(search)), opened_(kinds.size()) {}

  /// Opens the first library that exists, since a device without any library is of no use. If none exists, the error is
  /// that of the first kind.
  Status require_any();

  /// The kind that runs an operation, as an index for opened(). The error is ErrorKind::unsupported.
  Result<std::size_t> kind_for(const operation::Operation& operation) const;

  /// The library, opened when it is first used. ErrorKind::unsupported, now and later, if it is absent.
  Result<const ExecutorLibrary*> opened(std::size_t kind);

  std::size_t count() const { return kinds_.size(); }
  bool copies_heap_memory(std::size_t kind) const { return kinds_[kind].copies_heap_memory; }

  /// Opens all kinds and describes them.
  std::vector<Library> all();

  /// The versions of the libraries that have been opened: ", cuBLAS 13.0.2".
  std::string versions();

 private:
  using Opened = Result<std::unique_ptr<ExecutorLibrary>>;

  const Opened& open(std::size_t kind);  ///< requires the mutex

  const std::span<const ExecutorKind> kinds_;
  const LibrarySearch search_;
  std::mutex mutex_;
  std::vector<std::optional<Opened>> opened_;
};

}  // namespace blastoff::device::gpu
