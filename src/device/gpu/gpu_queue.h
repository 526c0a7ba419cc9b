// A stream of a GPU with the executors of its operations, and events.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/device.h"
#include "device/gpu/context.h"
#include "device/gpu/executor.h"
#include "device/gpu/matrix_kernels.h"
#include "device/gpu/memory.h"
#include "device/gpu/permutation_kernel.h"
#include "device/gpu/run_copy_kernel.h"

namespace blastoff::device::gpu {

/// Properties of a GPU that queues use.
struct Capabilities {
  std::size_t largest_pitch = 0;                     ///< of 2-D copies, bytes
  std::size_t workspace_bytes = 0;                   ///< for matrix kernels in each queue
  bool host_addresses_are_device_addresses = false;  ///< for pinned memory
  bool can_prefetch = false;                         ///< can move the program's memory to the GPU
};

class GpuEvent final : public Event {
 public:
  static Result<std::unique_ptr<Event>> create(std::shared_ptr<Context> context);
  ~GpuEvent() override;
  Status synchronize() override;
  EventHandle handle() const { return handle_; }

 private:
  explicit GpuEvent(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  std::shared_ptr<Context> context_;
  EventHandle handle_ = nullptr;
};

/// Blastoff's own kernels, shared by all queues of a GPU.
struct CopyKernels {
  std::shared_ptr<const TriangleKernel> triangles;  ///< may be null; then there are no triangle copies and no gemmt
  std::shared_ptr<RunCopyKernel> runs;
};

class GpuQueue final : public Queue {
 public:
  static Result<std::unique_ptr<Queue>> create(std::shared_ptr<Context> context, std::shared_ptr<Memory> memory,
                                               CopyKernels kernels, std::shared_ptr<ExecutorLibraries> libraries,
                                               const Capabilities& capabilities);
  /// Makes a queue over a stream of the program.
  static Result<std::unique_ptr<Queue>> adopt(StreamHandle stream, std::shared_ptr<Context> context,
                                              std::shared_ptr<Memory> memory, CopyKernels kernels,
                                              std::shared_ptr<ExecutorLibraries> libraries,
                                              const Capabilities& capabilities);
  ~GpuQueue() override;

  Status copy_to_device(Address destination, const void* source, const Block& block) override;
  Status copy_runs_to_device(std::span<const Run> runs) override;
  Status copy_to_host(void* destination, Address source, const Block& block) override;
  Status copy_between(Address destination, Address source, std::size_t bytes) override;
  Status copy_triangle_to_host(void* destination, Address source, const Triangle& triangle) override;
  Status execute(const operation::Operation& operation, const operation::Host& host) override;
  bool copies_heap_memory(const operation::Operation& operation) override;
  Status permute(Address destination, Address source, const Permutation& permutation) override;
  Status prefetch(const void* address, std::size_t bytes) override;
  Status record(Event& event) override;
  Status wait(Event& event) override;
  Status synchronize() override;

 private:
  GpuQueue(std::shared_ptr<Context> context, std::shared_ptr<Memory> memory, CopyKernels kernels,
           std::shared_ptr<ExecutorLibraries> libraries, const Capabilities& capabilities)
      : context_(std::move(context)),
        memory_(std::move(memory)),
        kernels_(std::move(kernels)),
        libraries_(std::move(libraries)),
        capabilities_(capabilities) {}

  Status check(Code result, std::string_view operation);
  Status copy(RectangleCopy rectangle, const Block& block);
  Status copy_rectangle(RectangleCopy& copy, const Block& block);
  Result<Executor*> executor_for(const operation::Operation& operation);

  std::shared_ptr<Context> context_;
  std::shared_ptr<Memory> memory_;
  const CopyKernels kernels_;
  std::shared_ptr<ExecutorLibraries> libraries_;
  const Capabilities capabilities_;
  StreamHandle stream_ = nullptr;
  bool adopted_ = false;                            // the stream is the program's
  std::unique_ptr<PermutationKernel> permutation_;  // loaded by the first permutation
  std::vector<std::unique_ptr<Executor>>
      executors_;  // by kind; made by the first operation, since queues of copies need none
};

}  // namespace blastoff::device::gpu
