#include "intercept/original.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <new>

#include "intercept/loaded_objects.h"
#include "intercept/lookup.h"
#include "intercept/patch/patched_function.h"
#include "intercept/standard_library.h"
#include "platform/errno_guard.h"
#include "platform/fork_guard.h"
#include "platform/process.h"
#include "platform/threads.h"

namespace blastoff::intercept {
namespace {

/// The result for one caller and entry. Published once, by storing the caller last; never changed after that.
struct Slot {
  std::atomic<const void*> caller{nullptr};
  const EntryPoint* entry = nullptr;
  void* function = nullptr;
  abi::Convention convention{};
  bool handed_on = false;
  void* companion = nullptr;
};

/// Call sites of one program: thousands (LAPACK has two thousand). Pages to which nothing hashes are never touched.
constexpr std::size_t slot_count = 16384;
constexpr std::size_t probes = 16;
constinit std::array<Slot, slot_count> slots{};
constinit std::mutex publishing;

/// For an entry without any definition: load_count() when that was found, plus one.
std::atomic<std::uint64_t>& absent_since(const EntryPoint& entry) {
  const RoutineTable& table = *entry.routine.table;
  return table.absent[static_cast<std::size_t>(&entry - table.entry_points.data())];
}

std::size_t hash(const EntryPoint& entry, const void* caller) {
  const auto key = reinterpret_cast<std::uintptr_t>(caller) ^ (reinterpret_cast<std::uintptr_t>(&entry) << 20);
  return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15U) >> 40) % slot_count;
}

void publish(const EntryPoint& entry, const void* caller, const Original& original) {
  // A child of fork may find the lock taken for ever: then it looks up anew each time.
  const std::unique_lock lock(publishing, std::try_to_lock);
  if (!lock) return;
  std::size_t index = hash(entry, caller);
  for (std::size_t probe = 0; probe < probes; ++probe, index = (index + 1) % slot_count) {
    Slot& slot = slots[index];
    const void* const holder = slot.caller.load(std::memory_order_relaxed);
    if (holder == caller && slot.entry == &entry) return;
    if (holder != nullptr) continue;
    slot.entry = &entry;
    slot.function = original.function;
    slot.convention = original.convention;
    slot.handed_on = !original.intercepted;
    slot.companion = original.companion;
    slot.caller.store(caller, std::memory_order_release);
    return;
  }
}

void* find_companion(const EntryPoint& entry, const void* caller) {
  const Routine routine = companion_of(entry.routine);
  const EntryPoint* const beside = routine == entry.routine ? nullptr : sibling(entry, routine);
  if (beside == nullptr) return nullptr;
  const Original found = original_for(*beside, caller);
  return found.intercepted ? found.function : nullptr;
}

/// How a definition under an entry's name is called.
Original called_as(const EntryPoint& entry, void* function) {
  Original original;
  original.convention = entry.convention;
  original.function = function;
  keep_loaded(function);
  const bool suffixed = entry.convention.integers == abi::IntegerWidth::ilp64;
  if (!suffixed) original.convention.integers = integer_width(function);
  return original;
}

/// Hooked once: what a name handles need not pass through the patch again.
void pass_by_the_patch(Original& original) {
  const PatchedFunction* const patched = find_patched(original.function);
  if (patched != nullptr) original.function = patched->original.function;
}

Original look_up(const EntryPoint& entry, const void* caller) {
  void* function = find_definition(entry.symbol, caller);
  if (function == nullptr) function = load_standard_definition(entry, caller);
  if (function == nullptr) return {.convention = entry.convention};
  Original original = called_as(entry, function);
  if (only_patched() || platform::has_elevated_rights()) {
    original.intercepted = false;
    return original;
  }
  if (entry.undecorated) original.intercepted = is_own_routine(entry, original.function);
  if (original.intercepted) pass_by_the_patch(original);
  original.companion = find_companion(entry, caller);
  return original;
}

[[gnu::noinline]] Original ask_linker(const EntryPoint& entry, const void* caller) {
  const platform::ErrnoGuard errno_stays;
  const platform::ForkGuard guard;
  auto& absent = absent_since(entry);
  const std::uint64_t loads = load_count() + 1;
  Original original;
  original.convention = entry.convention;
  if (absent.load(std::memory_order_relaxed) != loads) {
    try {
      original = look_up(entry, caller);
    } catch (const std::bad_alloc&) {
      return original;
    }
    // A failed step of the search must not appear as an error of the program (dlerror).
    dlerror();
    if (original.function != nullptr) {
      publish(entry, caller, original);
    } else {
      absent.store(loads, std::memory_order_relaxed);
    }
  }
  return original;
}

[[gnu::noinline, gnu::cold]] Original look_up_and_publish(const EntryPoint& entry, const void* caller) {
  Original original;
  platform::undisturbed([&] { original = ask_linker(entry, caller); });
  return original;
}

}  // namespace

Original original_for(const EntryPoint& entry, const void* caller) {
  std::size_t index = hash(entry, caller);
  for (std::size_t probe = 0; probe < probes; ++probe, index = (index + 1) % slot_count) {
    const Slot& slot = slots[index];
    const void* const holder = slot.caller.load(std::memory_order_acquire);
    if (holder == caller && slot.entry == &entry) [[likely]] {
      return {slot.function, slot.convention, !slot.handed_on, slot.companion};
    }
    if (holder == nullptr) break;
  }
  return look_up_and_publish(entry, caller);
}

Original original_of_program(const Routine& routine) {
  const platform::ErrnoGuard errno_stays;
  const platform::ForkGuard guard;
  const auto* const main_program = reinterpret_cast<const void*>(getauxval(AT_ENTRY));
  Original original;
  for (const EntryPoint& entry : routine.table->entry_points) {
    if (entry.routine != routine || entry.undecorated) continue;
    if (void* const function = find_definition(entry.symbol, main_program)) {
      original = called_as(entry, function);
      pass_by_the_patch(original);
      break;
    }
  }
  dlerror();
  return original;
}

}  // namespace blastoff::intercept
