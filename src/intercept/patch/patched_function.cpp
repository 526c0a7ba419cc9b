#include "intercept/patch/patched_function.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "platform/code_memory.h"
#include "platform/fork_guard.h"
#include "platform/threads.h"

namespace blastoff::intercept {
namespace {

/// One entry for each object. Never destroyed, because objects are patched until the process ends.
struct Register {
  std::mutex mutex;
  std::list<PatchedCode> objects;
};

Register& patched() {
  static Register& one = *new Register;
  return one;
}

constinit std::atomic<bool> exported_names_hand_on{false};

template <class Wanted>
std::optional<PatchedPlace> find_if(const Wanted& wanted) {
  std::optional<PatchedPlace> found;
  platform::undisturbed([&] {
    const platform::ForkGuard guard;
    const std::lock_guard lock(patched().mutex);
    for (const PatchedCode& object : patched().objects) {
      for (const auto& function : object.functions) {
        if (wanted(*function))
          found = PatchedPlace{function->address, function->original, function->entry.routine.table};
      }
    }
  });
  return found;
}

}  // namespace

PatchRecord make_record(PatchedCode code) {
  patched();  // creates the register now
  PatchRecord record;
  record.push_back(std::move(code));
  return record;
}

void publish(PatchRecord record) {
  const platform::ForkGuard guard;
  const std::lock_guard lock(patched().mutex);
  patched().objects.splice(patched().objects.end(), record);
}

void withdraw(InstanceNumber object) {
  const platform::ForkGuard guard;
  const std::lock_guard lock(patched().mutex);
  patched().objects.remove_if([&](const PatchedCode& candidate) {
    if (candidate.object != object) return false;
    for (const platform::Span place : candidate.code) platform::release(place);
    return true;
  });
}

std::optional<PatchedPlace> find_patched(const void* address) {
  return find_if([&](const PatchedFunction& function) { return function.address == address; });
}

std::optional<PatchedPlace> find_trampoline(const void* trampoline) {
  return find_if([&](const PatchedFunction& function) { return function.original.function == trampoline; });
}

bool only_patched() {
  return exported_names_hand_on.load(std::memory_order_relaxed);
}

void set_only_patched(bool value) {
  exported_names_hand_on = value;
}

}  // namespace blastoff::intercept
