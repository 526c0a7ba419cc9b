#include "fft/plan_table.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "platform/fork_guard.h"
#include "platform/threads.h"

namespace blastoff::fft {
namespace {

struct Slot {
  std::atomic<const void*> handle{nullptr};
  std::atomic<const Plan*> plan{nullptr};
};

/// Every plan lies within this many slots of its place, so a look-up ends there even after plans were destroyed.
constexpr std::size_t probes = 16;
constexpr std::size_t first_size = 256;  // sizes are powers of two

/// A hash table with open addressing. A table that was replaced by a larger one is not freed. All of these together are
/// smaller than the current table.
struct Table {
  Table(std::size_t wanted, const Table* smaller)
      : size(wanted), slots(std::make_unique<Slot[]>(wanted)), replaced(smaller) {}

  Slot* find(const void* handle) const {
    const std::size_t first = place(handle);
    for (std::size_t probe = 0; probe < probes; ++probe) {
      Slot& slot = slots[(first + probe) & (size - 1)];
      if (slot.handle.load(std::memory_order_acquire) == handle) return &slot;
    }
    return nullptr;
  }

  /// Returns false if there is no room.
  bool add(const void* handle, const Plan* plan) const {
    Slot* const slot = find_free(handle);
    if (slot == nullptr) return false;
    slot->plan.store(plan, std::memory_order_relaxed);
    slot->handle.store(handle, std::memory_order_release);
    return true;
  }

  std::size_t place(const void* handle) const {
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(handle) * 0x9e3779b97f4a7c15U) >> 32) % size;
  }

  const std::size_t size;
  const std::unique_ptr<Slot[]> slots;
  const Table* const replaced;  ///< other threads may still be reading it

 private:
  Slot* find_free(const void* handle) const {
    const std::size_t first = place(handle);
    for (std::size_t probe = 0; probe < probes; ++probe) {
      Slot& slot = slots[(first + probe) & (size - 1)];
      if (slot.handle.load(std::memory_order_relaxed) == nullptr) return &slot;
    }
    return nullptr;
  }
};

constinit std::atomic<const Table*> current{nullptr};
constinit std::mutex writing;

/// Returns a larger table with all plans of `old`.
const Table* larger(const Table* old) {
  for (std::size_t size = old == nullptr ? first_size : 2 * old->size;; size *= 2) {
    auto table = std::make_unique<Table>(size, old);
    bool complete = true;
    for (std::size_t i = 0; old != nullptr && i < old->size; ++i) {
      const void* const handle = old->slots[i].handle.load(std::memory_order_relaxed);
      if (handle != nullptr)
        complete = complete && table->add(handle, old->slots[i].plan.load(std::memory_order_relaxed));
    }
    if (complete) return table.release();
  }
}

void forget(const void* handle) {
  const Table* const table = current.load(std::memory_order_relaxed);
  Slot* const slot = table == nullptr ? nullptr : table->find(handle);
  if (slot == nullptr) return;
  slot->handle.store(nullptr, std::memory_order_release);
  delete slot->plan.load(std::memory_order_relaxed);
}

void remember(const Plan& plan) {
  forget(plan.handle);
  auto kept = std::make_unique<const Plan>(plan);
  for (;;) {
    const Table* const table = current.load(std::memory_order_relaxed);
    if (table != nullptr && table->add(plan.handle, kept.get())) break;
    current.store(larger(table), std::memory_order_release);
  }
  (void)kept.release();
}

/// Runs a change of the table. A signal handler may also make plans, and a child of fork must not find the lock taken.
/// If memory is missing, the plan stays unknown, and the original executes it.
template <class Change>
void change(const Change& body) {
  platform::undisturbed([&] {
    const platform::ForkGuard guard;
    const std::lock_guard lock(writing);
    body();
  });
}

}  // namespace

const Plan* find_plan(const void* handle) {
  const Table* const table = current.load(std::memory_order_acquire);
  if (table == nullptr || handle == nullptr) return nullptr;
  const Slot* const slot = table->find(handle);
  return slot == nullptr ? nullptr : slot->plan.load(std::memory_order_relaxed);
}

void remember_plan(const Plan& plan) {
  change([&] { remember(plan); });
}

void forget_plan(const void* handle) {
  if (find_plan(handle) == nullptr) return;
  change([&] { forget(handle); });
}

}  // namespace blastoff::fft
