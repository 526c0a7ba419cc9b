#include "intercept/binding.h"

namespace blastoff::intercept {
namespace {

/// What meaning_of() has found for the call that this thread makes next. A signal handler that comes between may make
/// calls of its own, so what is written or read is compared with a count, as in a sequence lock.
struct LatestMeaning {
  std::atomic<std::uint64_t> begun{0};  ///< counts what has been found, and what has been taken
  const EntryPoint* entry = nullptr;
  const void* caller = nullptr;
  std::uint64_t changes = 0;  ///< linker_changes() at that time
  Original original;
  std::atomic<std::uint64_t> written{0};  ///< equal to `begun`: the fields between belong together
};
[[gnu::tls_model("initial-exec")]] constinit thread_local LatestMeaning latest_meaning{};

constexpr auto relaxed = std::memory_order_relaxed;

void remember(const EntryPoint& entry, const void* caller, std::uint64_t changes, const Original& original) {
  LatestMeaning& latest = latest_meaning;
  const std::uint64_t number = latest.begun.load(relaxed) + 1;
  latest.begun.store(number, relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  latest.entry = &entry;
  latest.caller = caller;
  latest.changes = changes;
  latest.original = original;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  latest.written.store(number, relaxed);
}

}  // namespace

const void* meaning_of(const EntryPoint& entry, const void* caller, const void* routine, NameBindings& bindings) {
  if (const Binding* const bound = bindings.find(caller)) return bound->target;
  const std::uint64_t changes = linker_changes();
  const Original original = original_for(entry, caller);
  const void* const target = original.intercepted ? routine : original.function;
  bind(bindings, entry, caller, target);
  if (original.intercepted) remember(entry, caller, changes, original);
  return target;
}

Original original_of_call(const EntryPoint& entry, const void* caller) {
  LatestMeaning& latest = latest_meaning;
  const std::uint64_t number = latest.written.load(relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const bool of_this_call = latest.entry == &entry && latest.caller == caller && latest.changes == linker_changes();
  const Original original = latest.original;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (!of_this_call || latest.begun.load(relaxed) != number) return original_for(entry, caller);
  latest.begun.store(number + 1, relaxed);
  return original;
}

}  // namespace blastoff::intercept
