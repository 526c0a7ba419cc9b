// The patched functions: what their hooks need, and their names.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "intercept/original.h"
#include "intercept/routine_table.h"

namespace blastoff::intercept {

/// A patched function. It lives until the process ends, like the jump to its hook.
struct PatchedFunction {
  void (*hook)() = nullptr;  ///< first: the entry stub's code jumps through it
  std::string symbol;        ///< what entry.symbol, prefix and suffix point to
  std::string prefix;
  std::string suffix;
  EntryPoint entry{};
  Original original;  ///< the trampoline, and the object's companion
  const void* address = nullptr;
};

/// Registers patched functions.
void publish(std::vector<std::unique_ptr<PatchedFunction>> functions);

/// The patched function at an address; nullptr if none is there.
const PatchedFunction* find_patched(const void* address);

/// The patched function that a trampoline stands for; nullptr if it is none.
const PatchedFunction* find_trampoline(const void* trampoline);

/// Whether exported names pass every call on, so that only patches see it (--intercept patch).
bool only_patched();
void set_only_patched(bool value);

}  // namespace blastoff::intercept
