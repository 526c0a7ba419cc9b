#include "device/gpu/gpu_queue.h"

#include <utility>

#include <fmt/format.h>

#include "device/alignment.h"

namespace blastoff::device::gpu {
namespace {

bool empty(const Block& block) {
  return block.column_bytes == 0 || block.columns == 0;
}

bool contiguous(const Block& block) {
  return block.columns == 1 || (block.host_pitch == block.column_bytes && block.device_pitch == block.column_bytes);
}

}  // namespace

Result<std::unique_ptr<Event>> GpuEvent::create(std::shared_ptr<Context> context) {
  std::unique_ptr<GpuEvent> event(new GpuEvent(std::move(context)));
  auto& owner = *event->context_;
  auto created = owner.run([&] {
    return owner.check(owner.driver().create_event(&event->handle_, event_disable_timing), "making an event");
  });
  if (!created) return tl::unexpected(created.error());
  return event;
}

GpuEvent::~GpuEvent() {
  if (handle_ == nullptr) return;
  (void)context_->run([&] { return context_->check(context_->driver().destroy_event(handle_), "ending an event"); });
}

Status GpuEvent::synchronize() {
  return context_->run(
      [&] { return context_->check(context_->driver().synchronize_event(handle_), "waiting for an event"); });
}

Result<std::unique_ptr<Queue>> GpuQueue::create(std::shared_ptr<Context> context, std::shared_ptr<Memory> memory,
                                                CopyKernels kernels, std::shared_ptr<ExecutorLibraries> libraries,
                                                const Capabilities& capabilities) {
  std::unique_ptr<GpuQueue> queue(
      new GpuQueue(std::move(context), std::move(memory), std::move(kernels), std::move(libraries), capabilities));
  auto& owner = *queue->context_;
  // Non-blocking: the program's own work on its default stream must not delay this stream.
  auto created = owner.run([&] {
    return owner.check(owner.driver().create_stream(&queue->stream_, stream_non_blocking), "making a stream");
  });
  if (!created) return tl::unexpected(created.error());
  return queue;
}

Result<std::unique_ptr<Queue>> GpuQueue::adopt(StreamHandle stream, std::shared_ptr<Context> context,
                                               std::shared_ptr<Memory> memory, CopyKernels kernels,
                                               std::shared_ptr<ExecutorLibraries> libraries,
                                               const Capabilities& capabilities) {
  std::unique_ptr<GpuQueue> queue(
      new GpuQueue(std::move(context), std::move(memory), std::move(kernels), std::move(libraries), capabilities));
  queue->stream_ = stream;
  queue->adopted_ = true;
  return queue;
}

GpuQueue::~GpuQueue() {
  if (adopted_ && executors_.empty() && !permutation_) return;
  (void)context_->run([&]() -> Status {
    if (!executors_.empty()) (void)context_->driver().synchronize_stream(stream_);  // its workspaces go to others
    executors_.clear();
    memory_->trim();
    permutation_.reset();
    if (stream_ != nullptr && !adopted_) context_->driver().destroy_stream(stream_);
    return {};
  });
}

Status GpuQueue::copy_to_device(Address destination, const void* source, const Block& block) {
  return copy({.source_type = memory_type_host,
               .source_host = source,
               .source_pitch = block.host_pitch,
               .destination_type = memory_type_device,
               .destination = destination,
               .destination_pitch = block.device_pitch},
              block);
}

Status GpuQueue::copy_to_host(void* destination, Address source, const Block& block) {
  return copy({.source_type = memory_type_device,
               .source = source,
               .source_pitch = block.device_pitch,
               .destination_type = memory_type_host,
               .destination_host = destination,
               .destination_pitch = block.host_pitch},
              block);
}

Status GpuQueue::copy(RectangleCopy rectangle, const Block& block) {
  if (empty(block)) return {};
  return context_->run([&]() -> Status {
    if (!contiguous(block)) return copy_rectangle(rectangle, block);
    const auto& driver = context_->driver();
    const std::size_t bytes = block.column_bytes * block.columns;
    const bool to_device = rectangle.destination_type == memory_type_device;
    const Code result = to_device ? driver.copy_to_device(rectangle.destination, rectangle.source_host, bytes, stream_)
                                  : driver.copy_to_host(rectangle.destination_host, rectangle.source, bytes, stream_);
    return context_->check(result, to_device ? "copy to the GPU" : "copy from the GPU");
  });
}

Status GpuQueue::copy_runs_to_device(std::span<const Run> runs) {
  if (!capabilities_.host_addresses_are_device_addresses || !RunCopyKernel::suits(runs))
    return Queue::copy_runs_to_device(runs);
  auto queued = context_->run([&] { return kernels_.runs->launch(runs, stream_); });
  // The copy engine needs no memory, and copying a run twice does no harm.
  if (!queued && queued.error().kind != ErrorKind::lost) return Queue::copy_runs_to_device(runs);
  return queued;
}

// The memory of all GPUs of a process lies in one address range, so an address tells the driver its GPU.
Status GpuQueue::copy_between(Address destination, Address source, std::size_t bytes) {
  return context_->run([&] {
    return context_->check_attempt(context_->driver().copy_on_device(destination, source, bytes, stream_),
                                   "copy between GPUs");
  });
}

Status GpuQueue::copy_rectangle(RectangleCopy& copy, const Block& block) {
  const auto& driver = context_->driver();
  copy.width_bytes = block.column_bytes;
  copy.height = block.columns;
  if (copy.source_pitch <= capabilities_.largest_pitch && copy.destination_pitch <= capabilities_.largest_pitch) {
    return context_->check(driver.copy_rectangle(&copy, stream_), "2-D copy");
  }
  // Columns that are farther apart than the largest pitch of a 2-D copy are copied one by one. For a single column the
  // pitch does not matter.
  const std::size_t source_pitch = std::exchange(copy.source_pitch, block.column_bytes);
  const std::size_t destination_pitch = std::exchange(copy.destination_pitch, block.column_bytes);
  copy.height = 1;
  for (std::size_t column = 0; column < block.columns; ++column) {
    if (auto ok = context_->check(driver.copy_rectangle(&copy, stream_), "2-D copy"); !ok) return ok;
    copy.source_host = static_cast<const unsigned char*>(copy.source_host) + source_pitch;
    copy.source += source_pitch;
    copy.destination_host = static_cast<unsigned char*>(copy.destination_host) + destination_pitch;
    copy.destination += destination_pitch;
  }
  return {};
}

Status GpuQueue::copy_triangle_to_host(void* destination, Address source, const Triangle& triangle) {
  if (kernels_.triangles == nullptr) {
    return tl::unexpected(Error{ErrorKind::unsupported, "this GPU's driver did not compile the triangle copy"});
  }
  return context_->run([&]() -> Status {
    TriangleCopy copy;
    copy.destination = reinterpret_cast<std::uintptr_t>(destination);
    copy.source = source;
    copy.destination_pitch = triangle.host_pitch;
    copy.source_pitch = triangle.device_pitch;
    copy.order = triangle.order;
    copy.block_order = triangle.block_order;
    copy.element_size = triangle.element_size;
    copy.part = triangle.part;
    if (!capabilities_.host_addresses_are_device_addresses) {
      const auto result = context_->driver().address_on_device(&copy.destination, destination, 0);
      if (auto ok = context_->check_attempt(result, "the address of pinned memory on the GPU"); !ok) return ok;
    }
    return kernels_.triangles->launch(copy, stream_);
  });
}

Status GpuQueue::execute(const operation::Operation& operation, const operation::Host&) {
  if (auto ok = check_alignment(operation); !ok) return ok;
  return context_->run([&]() -> Status {
    auto executor = executor_for(operation);
    return executor ? (*executor)->execute(operation) : tl::unexpected(std::move(executor.error()));
  });
}

Result<Executor*> GpuQueue::executor_for(const operation::Operation& operation) {
  const auto kind = libraries_->kind_for(operation);
  if (!kind) return tl::unexpected(kind.error());
  executors_.resize(libraries_->count());
  std::unique_ptr<Executor>& executor = executors_[*kind];
  if (executor == nullptr) {
    const auto library = libraries_->opened(*kind);
    if (!library) return tl::unexpected(library.error());
    auto created = (*library)->create({context_, memory_, kernels_.triangles, stream_, capabilities_.workspace_bytes});
    if (!created) return tl::unexpected(created.error());
    executor = std::move(*created);
  }
  return executor.get();
}

// If the executor does not exist yet, answers for its kind.
bool GpuQueue::copies_heap_memory(const operation::Operation& operation) {
  const auto kind = libraries_->kind_for(operation);
  if (!kind) return false;
  const bool made = *kind < executors_.size() && executors_[*kind] != nullptr;
  return made ? executors_[*kind]->copies_heap_memory(operation) : libraries_->copies_heap_memory(*kind);
}

Status GpuQueue::permute(Address destination, Address source, const Permutation& permutation) {
  return context_->run([&]() -> Status {
    if (!permutation_) {
      auto loaded = PermutationKernel::load(context_);
      if (!loaded) return tl::unexpected(std::move(loaded.error()));
      permutation_ = std::move(*loaded);
    }
    return permutation_->launch(destination, source, permutation, stream_);
  });
}

Status GpuQueue::prefetch(const void* address, std::size_t bytes) {
  if (!capabilities_.can_prefetch)
    return tl::unexpected(Error{ErrorKind::unsupported, "this GPU does not migrate the program's memory"});
  return context_->run([&] {
    return context_->check_attempt(
        context_->driver().prefetch(reinterpret_cast<std::uintptr_t>(address), bytes, context_->gpu(), stream_),
        "moving memory to the GPU");
  });
}

/// A wrong handle from the program does not lose the device.
Status GpuQueue::check(Code result, std::string_view operation) {
  return adopted_ ? context_->check_attempt(result, operation) : context_->check(result, operation);
}

Status GpuQueue::record(Event& event) {
  const auto handle = static_cast<GpuEvent&>(event).handle();
  return context_->run([&] { return check(context_->driver().record_event(handle, stream_), "recording an event"); });
}

Status GpuQueue::wait(Event& event) {
  const auto handle = static_cast<GpuEvent&>(event).handle();
  return context_->run(
      [&] { return check(context_->driver().wait_for_event(stream_, handle, 0), "a stream's wait for an event"); });
}

Status GpuQueue::synchronize() {
  return context_->run([&] { return check(context_->driver().synchronize_stream(stream_), "waiting for a stream"); });
}

}  // namespace blastoff::device::gpu
