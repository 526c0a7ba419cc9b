#include "device/gpu/gpu_device.h"

#include <map>
#include <mutex>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>
#include <atomic>
#include <cstddef>
#include <memory>
#include <unordered_map>

#include "device/driver_sharing.h"
#include "device/gpu/choose_gpu.h"
#include "device/gpu/context.h"
#include "device/gpu/executor.h"
#include "device/gpu/gpu_queue.h"
#include "device/gpu/memory.h"
#include "platform/fork_guard.h"
#include "platform/huge_pages.h"
#include "platform/thread_ends.h"
#include "platform/threads.h"

namespace blastoff::device::gpu {
namespace {

// Page-locked memory that Blastoff allocates. The GPU copies from and to it at the full rate of the link.

/// Thread-safe. Large pieces are huge pages that are populated before the driver locks them. On an H200 node, 144 MiB
/// took 26 ms, with 3 ms in the driver. The driver's own function took 49 ms, and keeps other calls of the driver
/// waiting meanwhile.
class StagingMemory {
 public:
  StagingMemory(std::shared_ptr<Context> context, bool can_register)
      : context_(std::move(context)), can_register_(can_register) {}

  Result<void*> allocate(std::size_t bytes);
  void free(void* address);

 private:
  void* map_and_register(std::size_t bytes);  ///< nullptr if the system or the driver refuses

  const std::shared_ptr<Context> context_;
  const bool can_register_;
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> mapped_;  ///< bytes by address; others are the driver's
};

constexpr unsigned staging_flags = host_portable | host_device_map;

Result<void*> StagingMemory::allocate(std::size_t bytes) {
  if (bytes >= platform::huge_page && can_register_)
    if (void* const memory = map_and_register(bytes)) return memory;
  void* memory = nullptr;
  const auto allocated = context_->run([&] {
    return context_->check_attempt(context_->driver().allocate_host(&memory, bytes == 0 ? 1 : bytes, staging_flags),
                                   fmt::format("allocation of {} bytes of host memory", bytes));
  });
  if (!allocated) return tl::unexpected(allocated.error());
  return memory;
}

void StagingMemory::free(void* address) {
  std::size_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = mapped_.find(address); found != mapped_.end()) {
      bytes = found->second;
      mapped_.erase(found);
    }
  }
  if (bytes == 0) {
    (void)context_->run(
        [&] { return context_->check_attempt(context_->driver().free_host(address), "freeing host memory"); });
    return;
  }
  const auto ended = context_->run([&] {
    return context_->check_attempt(context_->driver().unregister_host(address), "unregistering host memory");
  });
  // A lost GPU may still write to this memory.
  if (ended) platform::unmap_huge_pages(address, bytes);
}

void* StagingMemory::map_and_register(std::size_t bytes) {
  const std::size_t whole = (bytes + platform::huge_page - 1) / platform::huge_page * platform::huge_page;
  void* const memory = platform::map_huge_pages(whole);
  if (memory == nullptr) return nullptr;
  const auto locked = context_->run([&] {
    return context_->check_attempt(context_->driver().register_host(memory, whole, staging_flags),
                                   fmt::format("registering {} bytes of host memory", whole));
  });
  if (!locked) {
    platform::unmap_huge_pages(memory, whole);
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  mapped_.emplace(memory, whole);
  return memory;
}

// Opens the libraries of a GPU's operations while the context is made.

/// A thread opens the libraries while the caller makes the context. The context takes 100 ms on an H200 node. The
/// libraries take 50 ms, or 250 ms if they are read from disk.
///
/// A caller that is itself within dlopen(), in the constructor of a library, holds the lock of the dynamic linker. The
/// thread then waits for that lock, and the caller does not wait for the thread.
class LoadingBeside {
 public:
  explicit LoadingBeside(std::shared_ptr<ExecutorLibraries> libraries);
  ~LoadingBeside() { wait(); }
  LoadingBeside(const LoadingBeside&) = delete;
  LoadingBeside& operator=(const LoadingBeside&) = delete;

  /// Waits until the libraries are opened. If the thread has not begun, returns at once, and the thread does not begin
  /// any more.
  void wait();

 private:
  enum class State : int { waiting, loading, over };

  const std::shared_ptr<std::atomic<State>> state_ = std::make_shared<std::atomic<State>>(State::waiting);
};

LoadingBeside::LoadingBeside(std::shared_ptr<ExecutorLibraries> libraries) {
  platform::start_thread("blastoff-load", [state = state_, libraries = std::move(libraries)] {
    const platform::ForkGuard guard;
    // Takes the lock of the dynamic linker and gives it back. So a caller that holds the lock has passed wait() before
    // this thread begins.
    (void)dlsym(RTLD_DEFAULT, "dlopen");
    State expected = State::waiting;
    if (!state->compare_exchange_strong(expected, State::loading)) return;
    (void)libraries->require_any();
    platform::announce_end();
    state->store(State::over);
    state->notify_all();
  });
}

void LoadingBeside::wait() {
  State expected = State::waiting;
  if (!state_->compare_exchange_strong(expected, State::over)) state_->wait(State::loading);
}

class GpuDevice final : public Device {
 public:
  GpuDevice(std::shared_ptr<Context> context, std::shared_ptr<const TriangleKernel> kernel,
            std::shared_ptr<ExecutorLibraries> libraries, Gpu gpu)
      : context_(std::move(context)),
        memory_(std::make_shared<Memory>(context_)),
        kernels_{std::move(kernel), std::make_shared<RunCopyKernel>(context_)},
        libraries_(std::move(libraries)),
        gpu_(std::move(gpu)),
        staging_memory_(context_, gpu_.properties.can_pin) {}

  const Properties& properties() const override { return gpu_.properties; }
  std::string software() override { return gpu_.properties.software + libraries_->versions(); }
  std::vector<Library> libraries() override { return libraries_->all(); }

  Result<MemoryInfo> memory_info() override {
    MemoryInfo info;
    return attempt(info,
                   [&] { return check(driver().memory_info(&info.free, &info.total), "the amount of free memory"); });
  }

  MemoryAccountant& accountant() override { return memory_->accountant(); }

  Status prepare(const operation::Operation& operation) override {
    const auto kind = libraries_->kind_for(operation);
    if (!kind) return tl::unexpected(kind.error());
    const auto library = libraries_->opened(*kind);
    return library ? Status{} : tl::unexpected(library.error());
  }

  Result<std::unique_ptr<Queue>> create_queue() override {
    return GpuQueue::create(context_, memory_, kernels_, libraries_, gpu_.capabilities);
  }
  Result<std::unique_ptr<Queue>> adopt_queue(void* stream) override {
    return GpuQueue::adopt(static_cast<StreamHandle>(stream), context_, memory_, kernels_, libraries_,
                           gpu_.capabilities);
  }
  Result<std::unique_ptr<Event>> create_event() override { return GpuEvent::create(context_); }

  bool copies_from(Device& other) override {
    auto* const gpu = dynamic_cast<GpuDevice*>(&other);
    const bool another = gpu != nullptr && gpu != this && gpu->properties().kind == properties().kind;
    return another && context_->reach(*gpu->context_) && gpu->memory_->share_with(context_->gpu());
  }

  Status enter() override { return context_->enter(); }
  void leave() override { context_->leave(); }

  Result<Address> allocate(MemoryClient client, std::size_t bytes) override { return memory_->allocate(client, bytes); }
  void free(Address address) override { memory_->free(address); }

  Result<Address> reserve(std::size_t bytes) override {
    Address address = 0;
    const auto granularity = gpu_.properties.backing_granularity;
    if (granularity == 0)
      return tl::unexpected(Error{ErrorKind::unsupported, "no virtual memory management on this GPU"});
    return attempt(address, [&] {
      return check_attempt(driver().reserve(&address, round_up(bytes), granularity, 0, 0),
                           fmt::format("reservation of {} bytes", bytes));
    });
  }

  void release(Address address, std::size_t bytes) override {
    (void)context_->run(
        [&] { return check_attempt(driver().release(address, round_up(bytes)), "ending a reservation"); });
  }

  Status back(MemoryClient client, Address address, std::size_t bytes) override {
    return memory_->back(client, address, bytes);
  }
  void unback(Address address, std::size_t bytes) override { memory_->unback(address, bytes); }

  Result<void*> allocate_staging(std::size_t bytes) override {
    Result<void*> allocated = staging_memory_.allocate(bytes);
    if (allocated) accountant().lock(PageLocked::staged, bytes);
    return allocated;
  }

  void free_staging(void* address, std::size_t bytes) override {
    if (address == nullptr) return;
    accountant().unlock(PageLocked::staged, bytes);
    staging_memory_.free(address);
  }

  bool used_by_program() override { return program_uses_driver(); }
  bool may_pin() override { return gpu_.properties.can_pin && !program_uses_driver(); }

  Status pin(void* address, std::size_t bytes) override {
    if (!gpu_.properties.can_pin) return tl::unexpected(Error{ErrorKind::unsupported, "this GPU cannot pin memory"});
    auto pinned = context_->run([&] {
      return check_attempt(driver().register_host(address, bytes, host_portable | host_device_map),
                           fmt::format("registering {} bytes of host memory at {}", bytes, address));
    });
    if (pinned) {
      const std::lock_guard lock(pins_mutex_);
      pins_[reinterpret_cast<std::uintptr_t>(address)] = bytes;
      accountant().lock(PageLocked::pinned, bytes);
    }
    return pinned;
  }

  void unpin(void* address, std::size_t) override {
    {
      const std::lock_guard lock(pins_mutex_);
      const auto pin = pins_.find(reinterpret_cast<std::uintptr_t>(address));
      if (pin == pins_.end()) return;
      accountant().unlock(PageLocked::pinned, pin->second);
      pins_.erase(pin);
    }
    (void)context_->run([&] { return check_attempt(driver().unregister_host(address), "unregistering host memory"); });
  }

  bool registered_by_program(const void* address) override {
    if (!others_have_driver() || pinned_by_us(address)) return false;
    unsigned type = 0;
    const auto known = context_->run([&] {
      return check_attempt(driver().memory_type(&type, reinterpret_cast<std::uintptr_t>(address)),
                           "the type of memory");
    });
    return known && type != 0;
  }

 private:
  const Driver& driver() const { return context_->driver(); }
  Status check(Code result, std::string_view operation) { return context_->check(result, operation); }
  Status check_attempt(Code result, std::string_view operation) { return context_->check_attempt(result, operation); }

  /// Returns `value`, which `work` sets, unless `work` returns an error.
  template <class T, class Work>
  Result<T> attempt(T& value, Work&& work) {
    auto status = context_->run(std::forward<Work>(work));
    if (!status) return tl::unexpected(std::move(status.error()));
    return value;
  }

  std::size_t round_up(std::size_t bytes) const {
    const auto unit = gpu_.properties.backing_granularity;
    return (bytes + unit - 1) / unit * unit;
  }

  bool pinned_by_us(const void* address) {
    const auto host = reinterpret_cast<std::uintptr_t>(address);
    const std::lock_guard lock(pins_mutex_);
    const auto after = pins_.upper_bound(host);
    return after != pins_.begin() && host - std::prev(after)->first < std::prev(after)->second;
  }

  std::shared_ptr<Context> context_;
  std::shared_ptr<Memory> memory_;
  const CopyKernels kernels_;
  std::shared_ptr<ExecutorLibraries> libraries_;
  Gpu gpu_;
  StagingMemory staging_memory_;
  std::mutex pins_mutex_;
  std::map<std::uintptr_t, std::size_t> pins_;
};

}  // namespace

Result<std::unique_ptr<Device>> open(Result<Driver> (*load)(), std::span<const ExecutorKind> executors,
                                     const Choice& choice) {
  // The driver starts threads when it creates a context. These must not handle the program's signals.
  const platform::SignalsBlocked blocked;
  auto driver = load();
  if (!driver) return tl::unexpected(driver.error());
  int driver_version = 0;
  driver->version(&driver_version);
  auto libraries = std::make_shared<ExecutorLibraries>(executors, LibrarySearch{choice.toolkit_path, driver_version});
  auto ordinal = choose_gpu(*driver, choice);
  if (!ordinal) return tl::unexpected(ordinal.error());
  int gpu = 0;
  if (const Code result = driver->find(&gpu, *ordinal); result != success) {
    return tl::unexpected(
        Error{ErrorKind::unavailable, fmt::format("GPU {} cannot be used: {}", *ordinal, driver->describe(result))});
  }
  LoadingBeside beside(libraries);
  auto context = Context::retain(*driver, gpu);
  if (!context) return tl::unexpected(explain_no_context(*driver, gpu, context.error()));
  beside.wait();
  if (auto any = libraries->require_any(); !any) return tl::unexpected(any.error());
  std::shared_ptr<const TriangleKernel> kernel;
  Gpu found;
  auto ready = (*context)->run([&]() -> Status {
    if (auto loaded = TriangleKernel::load(*context)) kernel = std::move(*loaded);
    found = inspect(**context, choice, *ordinal);
    found.properties.can_pin = found.properties.can_pin && kernel != nullptr;
    return {};
  });
  if (!ready) return tl::unexpected(Error{ErrorKind::unavailable, ready.error().message});
  return std::make_unique<GpuDevice>(std::move(*context), std::move(kernel), std::move(libraries), std::move(found));
}

}  // namespace blastoff::device::gpu
