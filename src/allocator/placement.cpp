#include "allocator/placement.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "allocator/device_node.h"
#include "allocator/next.h"
#include "platform/log.h"
#include "platform/valgrind.h"

namespace blastoff::allocator {

constinit std::atomic<std::size_t> large_from{never};

namespace {

/// A rejected value is reported at the first allocation of this size, so that not every shell of a job reports it.
constexpr std::size_t large_enough_to_speak = std::size_t{1} << 20;

// Written when the library is loaded, and only read afterwards.
constinit Settings settings;
constinit const char* owner = nullptr;  // the library that allocates in this process, if it is not the C library behind
                                        // us

enum class Decision : unsigned char { pending, made };
constinit std::atomic<Decision> decision{Decision::pending};
constinit std::atomic<bool> spoken{false};
constinit std::atomic<int> node{-1};
constinit std::atomic<std::size_t> bind_from{never};
constinit std::atomic<const char*> unbound{nullptr};

bool asked_for() {
  return settings.smallest() != never;
}

/// The user's request, as printed lines name it.
const char* request() {
  return settings.bind_from != never ? "placing memory at malloc" : "aligning memory at malloc";
}

/// A thread must not be cancelled within malloc(). open() and write() could allow that.
class NoCancellation {
 public:
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = 0;
};

const char* other_owner() {
  return platform::under_valgrind() ? "valgrind" : other_allocator();
}

/// Returns the size from which allocations are placed.
std::size_t decide_on_node() {
  if (settings.bind_from == never) return settings.align_from;
  const DeviceNode found = find_device_node(read_nodes(), settings.chosen_node, settings.device);
  unbound.store(found.refusal, std::memory_order_relaxed);
  if (found.refusal == nullptr) node.store(found.node, std::memory_order_relaxed);
  if (found.node < 0) return settings.align_from;
  bind_from.store(settings.bind_from, std::memory_order_relaxed);
  return settings.smallest();
}

void speak() {
  if (settings.bad_variable != nullptr)
    platform::log_line("invalid value %s=%.200s; accepted: %s; ignored", settings.bad_variable, settings.bad_value,
                       settings.accepted);
  if (owner != nullptr) {
    platform::log_line("%s has no effect: %s allocates in this process", request(), owner);
    return;
  }
  const char* const refusal = unbound.load(std::memory_order_relaxed);
  if (refusal == nullptr || settings.only_where_it_pays) return;
  const bool aligned = large_from.load(std::memory_order_relaxed) != never;
  platform::log_line("placing memory at malloc has no effect: %s%s", refusal,
                     aligned ? "; large allocations are only aligned" : "");
}

/// Threads that call this at the same time decide the same.
void decide() {
  const NoCancellation guard;
  large_from.store(owner == nullptr ? decide_on_node() : never, std::memory_order_relaxed);
  decision.store(Decision::made, std::memory_order_release);
  if (!spoken.exchange(true)) speak();
}

}  // namespace

Placement placement_for(std::size_t bytes) {
  if (decision.load(std::memory_order_acquire) == Decision::pending) decide();
  const bool place = bytes >= large_from.load(std::memory_order_relaxed);
  const bool bound = place && bytes >= bind_from.load(std::memory_order_relaxed);
  return {place, bound ? node.load(std::memory_order_relaxed) : -1, settings.huge_pages};
}

void prepare_placement() {
  if (!behind_is_glibc()) return;
  settings = read_settings([](const char* variable) -> const char* { return secure_getenv(variable); });
  if (!asked_for() && settings.bad_variable == nullptr) return;
  platform::remember_stderr();
  if (asked_for()) owner = other_owner();
  const std::size_t speak_from = settings.bad_variable == nullptr ? never : large_enough_to_speak;
  large_from.store(std::min(speak_from, settings.smallest()), std::memory_order_relaxed);
  if (owner != nullptr && (platform::under_valgrind() || !comes_first())) decide();
}

void give_up_binding(int error) {
  node.store(-1, std::memory_order_relaxed);
  if (unbound.exchange("the kernel does not allow memory to be bound to the device's NUMA node") != nullptr) return;
  const NoCancellation guard;
  platform::log_line("placing memory at malloc has no effect: %s (%s); large allocations are only aligned",
                     why_unbound(), strerror(error));
}

const char* malloc_owner() {
  return owner;
}

const char* why_unbound() {
  return unbound.load(std::memory_order_relaxed);
}

int bound_node() {
  return node.load(std::memory_order_relaxed);
}

}  // namespace blastoff::allocator
