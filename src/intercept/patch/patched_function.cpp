#include "intercept/patch/patched_function.h"

#include <atomic>

namespace blastoff::intercept {
namespace {

/// One object's functions. The list only grows, so it can be read without a lock.
struct Published {
  std::vector<std::unique_ptr<PatchedFunction>> functions;
  const Published* next = nullptr;
};

constinit std::atomic<const Published*> first{nullptr};
constinit std::atomic<bool> exported_names_hand_on{false};

template <class Wanted>
const PatchedFunction* find_if(const Wanted& wanted) {
  for (const Published* object = first.load(); object != nullptr; object = object->next) {
    for (const auto& function : object->functions) {
      if (wanted(*function)) return function.get();
    }
  }
  return nullptr;
}

}  // namespace

void publish(std::vector<std::unique_ptr<PatchedFunction>> functions) {
  auto* const added = new Published{std::move(functions), first.load()};
  while (!first.compare_exchange_weak(added->next, added)) {
  }
}

const PatchedFunction* find_patched(const void* address) {
  return find_if([&](const PatchedFunction& function) { return function.address == address; });
}

const PatchedFunction* find_trampoline(const void* trampoline) {
  return find_if([&](const PatchedFunction& function) { return function.original.function == trampoline; });
}

bool only_patched() {
  return exported_names_hand_on.load(std::memory_order_relaxed);
}

void set_only_patched(bool value) {
  exported_names_hand_on = value;
}

}  // namespace blastoff::intercept
