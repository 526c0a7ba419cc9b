#include "intercept/original.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include "intercept/binding.h"
#include "intercept/kept_objects.h"
#include "intercept/loaded_objects.h"
#include "intercept/loading/linker_changes.h"
#include "intercept/lookup.h"
#include "intercept/object_instances.h"
#include "intercept/patch/patched_function.h"
#include "intercept/standard_library.h"
#include "platform/caller.h"
#include "platform/confinement.h"
#include "platform/contained.h"
#include "platform/errno_guard.h"
#include "platform/fork_guard.h"
#include "platform/process.h"
#include "platform/threads.h"

namespace blastoff::intercept {
namespace {

/// The result for one entry and one call site, or for all callers in one object. While another thread writes the slot,
/// its version is odd or changes.
struct Slot {
  std::atomic<std::uint64_t> version{0};
  std::atomic<const void*> caller{nullptr};  ///< a return address, an object's record, or &nowhere; nullptr: free
  std::atomic<const EntryPoint*> entry{nullptr};
  std::atomic<void*> function{nullptr};
  std::atomic<std::uint64_t> convention{0};
  std::atomic<Library*> to_ask{nullptr};
  std::atomic<void*> companion{nullptr};
  std::atomic<std::uint64_t> changes{0};  ///< linker_changes() when the result was last known to hold
  std::atomic<std::uint64_t> loads{0};    ///< linker_counts() at that time
  std::atomic<std::uint64_t> unloads{0};
  std::atomic<InstanceNumber> calling{0};
  std::atomic<InstanceNumber> defining{0};
};

/// A consistent copy of a slot.
struct Answer {
  Original original;
  std::uint64_t changes = 0;
  LinkerCounts counts;
  InstanceNumber calling = 0;
  InstanceNumber defining = 0;
};

/// A program has thousands of call sites (LAPACK has two thousand). Pages to which nothing hashes are never touched.
/// The library's memory of this kind is less than a huge page in total; some systems would make a huge page at the
/// first touch.
constexpr std::size_t slot_count = 4096;
constexpr std::size_t probes = 16;
constinit std::array<Slot, slot_count> slots{};
constinit std::mutex publishing;

/// The key for all callers that lie in no object.
constexpr char nowhere = 0;

/// The instance of callers whose code is never unloaded.
constexpr InstanceNumber everlasting = UINT64_MAX;

/// The value of Slot::changes if changes are not noticed. Then linker_counts() must be compared.
constexpr std::uint64_t unnoticed = UINT64_MAX;

/// The number of loads, plus one, when no definition of the entry was found.
std::atomic<std::uint64_t>& absent_since(const EntryPoint& entry) {
  const RoutineTable& table = *entry.routine.table;
  return table.absent[static_cast<std::size_t>(&entry - table.entry_points.data())];
}

std::size_t hash(const EntryPoint& entry, const void* caller) {
  const auto key = reinterpret_cast<std::uintptr_t>(caller) ^ (reinterpret_cast<std::uintptr_t>(&entry) << 20);
  return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15U) >> 40) % slot_count;
}

struct PackedOriginal {
  abi::Convention convention;
  bool intercepted;
};
static_assert(sizeof(PackedOriginal) <= sizeof(std::uint64_t));

std::uint64_t pack(const Original& original) {
  const PackedOriginal packed{original.convention, original.intercepted};
  std::uint64_t word = 0;
  std::memcpy(&word, &packed, sizeof packed);
  return word;
}

[[gnu::always_inline]] inline Original unpack(void* function, std::uint64_t word, Library* to_ask, void* companion) {
  PackedOriginal packed;
  std::memcpy(&packed, &word, sizeof packed);
  return {function, packed.convention, to_ask, packed.intercepted, companion};
}

bool is_of(const Slot& slot, const EntryPoint& entry, const void* caller) {
  return slot.caller.load(std::memory_order_acquire) == caller && slot.entry.load(std::memory_order_acquire) == &entry;
}

/// Returns what is known for an entry and caller. It may be out of date.
std::optional<Answer> find(const EntryPoint& entry, const void* caller) {
  constexpr auto acquire = std::memory_order_acquire;
  std::size_t index = hash(entry, caller);
  for (std::size_t probe = 0; probe < probes; ++probe, index = (index + 1) % slot_count) {
    const Slot& slot = slots[index];
    const std::uint64_t version = slot.version.load(acquire);
    if (slot.caller.load(acquire) == nullptr) break;
    if (!is_of(slot, entry, caller)) continue;
    const Answer answer{unpack(slot.function.load(acquire), slot.convention.load(acquire), slot.to_ask.load(acquire),
                               slot.companion.load(acquire)),
                        slot.changes.load(acquire), LinkerCounts{slot.loads.load(acquire), slot.unloads.load(acquire)},
                        slot.calling.load(acquire), slot.defining.load(acquire)};
    if (version % 2 == 0 && slot.version.load(acquire) == version) return answer;
    break;
  }
  return std::nullopt;
}

/// Whether the objects of an answer are still loaded. Compares the dynamic linker's counters. If they differ, takes a
/// lock, which is only held for moments: another thread may be opening or closing an object, and wait for this one.
bool holds(const Answer& answer) {
  if (answer.counts == linker_counts()) return true;
  const auto lasts = [](InstanceNumber instance) { return instance == everlasting || is_loaded(instance); };
  number_instances();
  return lasts(answer.calling) && lasts(answer.defining);
}

void write(Slot& slot, const EntryPoint* entry, const void* caller, const Answer& answer) {
  constexpr auto release = std::memory_order_release;
  const std::uint64_t version = slot.version.load(std::memory_order_relaxed);
  slot.version.store(version + 1, release);
  slot.caller.store(caller, release);
  slot.entry.store(entry, release);
  slot.function.store(answer.original.function, release);
  slot.convention.store(pack(answer.original), release);
  slot.to_ask.store(answer.original.to_ask, release);
  slot.companion.store(answer.original.companion, release);
  slot.changes.store(answer.changes, release);
  slot.loads.store(answer.counts.loads, release);
  slot.unloads.store(answer.counts.unloads, release);
  slot.calling.store(answer.calling, release);
  slot.defining.store(answer.defining, release);
  slot.version.store(version + 2, release);
}

/// Returns the slot for an answer: its own slot, a free one, or, if it `must` have one, a slot that another answer
/// uses. nullptr: all slots are taken.
Slot* place_for(const EntryPoint& entry, const void* caller, bool must) {
  std::size_t index = hash(entry, caller);
  for (std::size_t probe = 0; probe < probes; ++probe, index = (index + 1) % slot_count) {
    Slot& slot = slots[index];
    if (slot.caller.load(std::memory_order_relaxed) == nullptr || is_of(slot, entry, caller)) return &slot;
  }
  return must ? &slots[hash(entry, caller)] : nullptr;
}

void publish(const EntryPoint& entry, const void* caller, const Answer& answer, bool must) {
  // After a fork, the child may find the lock taken for ever. Then it looks up anew each time.
  const std::unique_lock lock(publishing, std::try_to_lock);
  if (!lock) return;
  if (Slot* const slot = place_for(entry, caller, must)) write(*slot, &entry, caller, answer);
}

/// Frees the slots of unloaded objects. (An answer that was stored behind such a slot is looked up again.)
void free_slots() {
  static constinit LinkerCounts seen;
  const std::unique_lock lock(publishing, std::try_to_lock);
  const LinkerCounts counts = linker_counts();
  if (!lock || counts == seen) return;
  seen = counts;
  number_instances();
  const std::vector<InstanceNumber> loaded = loaded_instances();
  const auto lasts = [&](InstanceNumber instance) {
    return instance == everlasting || std::binary_search(loaded.begin(), loaded.end(), instance);
  };
  for (Slot& slot : slots) {
    if (slot.caller.load(std::memory_order_relaxed) == nullptr) continue;
    if (!lasts(slot.calling) || !lasts(slot.defining)) write(slot, nullptr, nullptr, {});
  }
}

/// The main program is never unloaded, and neither is code that it makes at run time.
InstanceNumber instance_of_caller(const void* caller) {
  if (platform::object_record(caller) == nullptr) return everlasting;
  const InstanceNumber instance = instance_at(caller);
  return instance != 0 && instance == instance_at(reinterpret_cast<const void*>(getauxval(AT_ENTRY))) ? everlasting
                                                                                                      : instance;
}

void* find_companion(const EntryPoint& entry, const void* caller) {
  const Routine routine = companion_of(entry.routine);
  const EntryPoint* const beside = routine == entry.routine ? nullptr : sibling(entry, routine);
  if (beside == nullptr) return nullptr;
  const Original found = original_for(*beside, caller);
  return found.intercepted ? found.function : nullptr;
}

/// If the function is patched as a routine of that table, replaces it by its trampoline: a call of an exported name has
/// already been intercepted. (It may be patched only to be counted.)
void pass_by_the_patch(Original& original, const RoutineTable* table) {
  const auto patched = find_patched(original.function);
  if (patched && patched->table == table) original.function = patched->original.function;
}

Original look_up(const EntryPoint& entry, const void* caller, Answer& answer) {
  void* function = find_definition(entry.symbol, caller);
  if (function == nullptr) function = load_standard_definition(entry, caller);
  if (function == nullptr) return {.convention = entry.convention};
  number_instances();
  answer.calling = instance_of_caller(caller);
  answer.defining = instance_at(function);
  if (answer.calling == everlasting)
    keep_loaded(function);
  else
    keep_while_loaded(caller, answer.calling, function, answer.defining);
  if (only_patched() || platform::has_elevated_rights())
    return {.function = function, .convention = entry.convention, .intercepted = false};
  Original original = judged(entry, function);
  if (!original.intercepted) return original;
  pass_by_the_patch(original, entry.routine.table);
  original.companion = find_companion(entry, caller);
  return original;
}

/// Finds the definition to which the caller is bound, without allocating memory, and without a system call. Nothing
/// else is known, so calls are passed on unchanged.
Original look_up_in_reach(const EntryPoint& entry, const void* caller) {
  Original original;
  original.convention = entry.convention;
  original.function = find_definition_in_reach(entry.symbol, caller);
  original.intercepted = false;
  dlerror();
  return original;
}

Original look_up_without_memory(const EntryPoint& entry, const void* caller) {
  platform::say_out_of_memory();
  return look_up_in_reach(entry, caller);
}

/// Returns the value of Slot::changes for an answer that was found at `changes`. Answers for the main program hold even
/// if changes are not noticed.
std::uint64_t known_at(std::uint64_t changes, const Answer& answer) {
  return changes != 0 || answer.calling == everlasting ? changes : unnoticed;
}

/// Looks up the definition for all callers of one object. `group`: the key for these callers.
Answer ask_linker(const EntryPoint& entry, const void* caller, const void* group) {
  auto& absent = absent_since(entry);
  // Read before the search: a change during the search makes the answer outdated.
  const std::uint64_t changes = linker_changes();
  const LinkerCounts counts = linker_counts();
  Answer answer;
  answer.counts = counts;
  answer.original.convention = entry.convention;
  if (absent.load(std::memory_order_relaxed) == counts.loads + 1) return answer;
  free_slots();
  answer.original = look_up(entry, caller, answer);
  answer.changes = known_at(changes, answer);
  // A failed step of the search must not appear as an error of the program (dlerror).
  dlerror();
  if (answer.original.function != nullptr) {
    publish(entry, group, answer, true);
  } else {
    absent.store(counts.loads + 1, std::memory_order_relaxed);
  }
  return answer;
}

/// Returns what is known for an entry and caller, if it still holds, and marks it as current; nullopt: it has to be
/// looked up.
std::optional<Answer> find_valid(const EntryPoint& entry, const void* caller, bool must) {
  const std::uint64_t changes = linker_changes();
  const LinkerCounts counts = linker_counts();
  std::optional<Answer> answer = find(entry, caller);
  if (!answer || !holds(*answer)) return std::nullopt;
  answer->changes = known_at(changes, *answer);
  answer->counts = counts;
  publish(entry, caller, *answer, must);
  return answer;
}

[[gnu::noinline]] Original look_up_and_publish(const EntryPoint& entry, const void* caller, const void* group) {
  const platform::ErrnoGuard errno_stays;
  const platform::ForkGuard guard;
  Original original;
  const auto search = [&] {
    if (const auto known = find_valid(entry, caller, false)) {
      original = known->original;
      return;
    }
    auto answer = find_valid(entry, group, true);
    if (!answer) answer = ask_linker(entry, caller, group);
    original = answer->original;
    if (original.function != nullptr && group != &nowhere) publish(entry, caller, *answer, false);
  };
  // A second attempt: memory that was missing for a moment may be there now.
  if (platform::contained(search) || platform::contained(search)) return original;
  return look_up_without_memory(entry, caller);
}

bool is_current(const Answer& answer) {
  return answer.changes == linker_changes() || (answer.changes == unnoticed && answer.counts == linker_counts());
}

/// Whether the call site can have a slot of its own.
bool has_place(const EntryPoint& entry, const void* caller) {
  return place_for(entry, caller, false) != nullptr;
}

/// Finds the original if the call site's own slot has no current answer.
[[gnu::noinline, gnu::cold]] Original original_for_object_of(const EntryPoint& entry, const void* caller) {
  if (const auto known = find(entry, caller); known && is_current(*known)) return known->original;
  const void* const record = platform::object_record(caller);
  const void* const group = record != nullptr ? record : &nowhere;
  const auto known = find(entry, group);
  // If a slot is free, the call site gets a slot of its own.
  if (known && is_current(*known) && (record == nullptr || !has_place(entry, caller))) return known->original;
  if (platform::confined()) return look_up_in_reach(entry, caller);
  Original original;
  if (!platform::undisturbed([&] { original = look_up_and_publish(entry, caller, group); }))
    original = look_up_without_memory(entry, caller);
  return original;
}

}  // namespace

Original original_for(const EntryPoint& entry, const void* caller) {
  constexpr auto acquire = std::memory_order_acquire;
  const std::uint64_t changes = linker_changes();
  std::size_t index = hash(entry, caller);
  for (std::size_t probe = 0; probe < probes; ++probe, index = (index + 1) % slot_count) {
    const Slot& slot = slots[index];
    const std::uint64_t version = slot.version.load(acquire);
    const void* const holder = slot.caller.load(acquire);
    if (holder == caller && slot.entry.load(acquire) == &entry && slot.changes.load(acquire) == changes) [[likely]] {
      const Original original = unpack(slot.function.load(acquire), slot.convention.load(acquire),
                                       slot.to_ask.load(acquire), slot.companion.load(acquire));
      if (slot.version.load(acquire) == version && version % 2 == 0) [[likely]]
        return original;
      break;
    }
    if (holder == nullptr) break;
  }
  return original_for_object_of(entry, caller);
}

namespace {

/// Limits the memory for objects that come and go. If there is no room for a binding, each call is looked up.
constexpr std::size_t max_bindings = 2048;
alignas(Binding) constinit std::array<std::byte, max_bindings * sizeof(Binding)> room_for_bindings{};
constinit std::size_t bindings_made = 0;

/// Returns the binding for calls that go to `target`; nullptr: there is no room.
Binding* binding_of(NameBindings& name, platform::Span object, const void* target, const Original& original) {
  Binding* const first = name.all.load(std::memory_order_relaxed);
  for (Binding* each = first; each != nullptr; each = each->next)
    if (each->begin == object.begin && each->bytes == object.bytes() && each->target == target &&
        each->original == original)
      return each;
  if (bindings_made == max_bindings) return nullptr;
  Binding& made = *new (&room_for_bindings[bindings_made++ * sizeof(Binding)]) Binding;
  made.begin = object.begin;
  made.bytes = object.bytes();
  made.target = target;
  made.original = original;
  made.next = first;
  name.all.store(&made, std::memory_order_relaxed);
  return &made;
}

}  // namespace

void bind(NameBindings& name, const EntryPoint& entry, const void* caller, const void* routine) {
  constexpr std::uint32_t turn = 64;
  const Binding* const current = name.current.load(std::memory_order_acquire);
  if (current != nullptr && current->holds()) {
    const std::uint32_t misses = name.misses.load(std::memory_order_relaxed) + 1;
    name.misses.store(misses, std::memory_order_relaxed);
    if (misses % turn != 0) return;
  }
  std::optional<Answer> answer = find(entry, caller);
  if (!answer) answer = find(entry, platform::object_record(caller));
  if (!answer || answer->original.function == nullptr || answer->changes != linker_changes()) return;
  const platform::Span object = platform::object_span(caller);
  if (object.empty()) return;
  const std::unique_lock lock(publishing, std::try_to_lock);
  if (!lock) return;
  const void* const target = answer->original.intercepted ? routine : answer->original.function;
  Binding* const binding = binding_of(name, object, target, answer->original);
  if (binding == nullptr) return;
  binding->changes.store(answer->changes, std::memory_order_release);
  name.current.store(binding, std::memory_order_release);
}

namespace {

blas::Scalar scalar_of(const Routine& routine) {
  return routine.table->signature(abi::Style::fortran, routine.number).scalar;
}

}  // namespace

Original original_of_program(const Routine& routine) {
  const platform::ErrnoGuard errno_stays;
  const platform::ForkGuard guard;
  const auto* const main_program = reinterpret_cast<const void*>(getauxval(AT_ENTRY));
  Original original;
  for (const EntryPoint& entry : routine.table->entry_points) {
    if (entry.routine != routine || entry.undecorated) continue;
    if (void* const function = find_definition(entry.symbol, main_program)) {
      original = judged(entry, function);
      const auto integers = original.intercepted ? original.integers(scalar_of(routine)) : std::nullopt;
      if (!integers) return {};
      original.convention.integers = *integers;
      original.to_ask = nullptr;
      pass_by_the_patch(original, entry.routine.table);
      break;
    }
  }
  dlerror();
  return original;
}

}  // namespace blastoff::intercept
