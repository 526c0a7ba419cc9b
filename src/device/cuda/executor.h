// Operations run by NVIDIA's libraries: one executor for each library and stream.
#pragma once

#include <memory>
#include <span>

#include "device/cuda/context.h"
#include "device/cuda/triangle_kernel.h"
#include "operation/operation.h"

namespace blastoff::device::cuda {

/// The context is current in all calls.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Queues the operation; operand addresses are device addresses.
  virtual Status execute(const operation::Operation& operation) = 0;
};

/// What an executor works with. `kernel` may be null.
struct ExecutorStream {
  std::shared_ptr<Context> context;
  std::shared_ptr<const TriangleKernel> kernel;
  api::CUstream stream = nullptr;
  std::size_t workspace_bytes = 0;
};

/// A library and the operations that it runs.
struct ExecutorKind {
  bool (*runs)(const operation::Operation& operation);
  Result<std::unique_ptr<Executor>> (*create)(const ExecutorStream& stream);
};

/// All libraries. The first that runs an operation is taken.
std::span<const ExecutorKind> executor_kinds();

}  // namespace blastoff::device::cuda
