#include "intercept/fft/dfti_beside.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "intercept/loaded_objects.h"
#include "intercept/loading/linker_changes.h"
#include "intercept/patch/patched_function.h"
#include "intercept/symbols/object_file.h"
#include "platform/errno_guard.h"
#include "platform/threads.h"

namespace blastoff::intercept {
namespace {

/// Returns a function that the object does not export; nullptr: it has none of that name.
const void* inside(const LoadedObject& object, std::string_view name) {
  const auto file = ObjectFile::open(object.path.empty() ? "/proc/self/exe" : object.path.c_str());
  const std::uint64_t address = file ? file->addresses_of({&name, 1}).front() : 0;
  return address == 0 ? nullptr : reinterpret_cast<const void*>(object.bias + address);
}

fft::DftiGetValue* find_beside(const void* function) {
  constexpr const char* name = "DftiGetValue";
  const auto object = object_of(function);
  if (!object) return nullptr;
  const void* found = ObjectHandle(object->path.c_str()).find(name);
  if (!object->contains(found)) found = inside(*object, name);
  return object->contains(found) ? reinterpret_cast<fft::DftiGetValue*>(const_cast<void*>(found)) : nullptr;
}

/// An answer for one function. While another thread writes it, its version is odd or changes.
struct Slot {
  std::atomic<std::uint64_t> version{0};
  std::atomic<const void*> function{nullptr};
  std::atomic<fft::DftiGetValue*> answer{nullptr};
  std::atomic<std::uint64_t> loads{0};  ///< see state_of_linker()
};

/// A library has some 50 functions that are asked for, of which a program uses few.
constexpr std::size_t slot_count = 32;
constinit std::array<Slot, slot_count> slots{};

/// A number that changes when an object is loaded or unloaded.
std::uint64_t state_of_linker() {
  const std::uint64_t changes = linker_changes();
  if (changes != 0) return changes;
  const LinkerCounts counts = linker_counts();
  return ~(counts.loads + counts.unloads);
}

void keep(Slot& slot, const void* function, fft::DftiGetValue* answer, std::uint64_t state) {
  constexpr auto release = std::memory_order_release;
  std::uint64_t version = slot.version.load(std::memory_order_relaxed);
  // If another thread writes, this answer is found again at the next call.
  if (version % 2 != 0 || !slot.version.compare_exchange_strong(version, version + 1, std::memory_order_acq_rel))
    return;
  slot.function.store(function, release);
  slot.answer.store(answer, release);
  slot.loads.store(state, release);
  slot.version.store(version + 2, release);
}

}  // namespace

fft::DftiGetValue* dfti_beside(const void* function) {
  constexpr auto acquire = std::memory_order_acquire;
  const std::uint64_t state = state_of_linker();
  Slot& slot = slots[(reinterpret_cast<std::uintptr_t>(function) * 0x9e3779b97f4a7c15U >> 40) % slot_count];
  const std::uint64_t version = slot.version.load(acquire);
  if (slot.function.load(acquire) == function && slot.loads.load(acquire) == state) [[likely]] {
    fft::DftiGetValue* const answer = slot.answer.load(acquire);
    if (version % 2 == 0 && slot.version.load(acquire) == version) [[likely]]
      return answer;
  }
  const platform::ErrnoGuard errno_stays;
  fft::DftiGetValue* answer = nullptr;
  platform::undisturbed([&] {
    const auto patched = find_trampoline(function);
    answer = find_beside(patched ? patched->address : function);
  });
  keep(slot, function, answer, state);
  return answer;
}

}  // namespace blastoff::intercept
