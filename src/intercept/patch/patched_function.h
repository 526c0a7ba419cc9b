// The patched functions: what their hooks need, and their names.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "intercept/object_instances.h"
#include "intercept/original.h"
#include "intercept/routine_table.h"
#include "platform/span.h"

namespace blastoff::intercept {

/// A patched function. It lives as long as its object.
struct PatchedFunction {
  void (*hook)() = nullptr;  ///< first: the entry stub's code jumps through it
  std::string symbol;        ///< what entry.symbol, prefix and suffix point to
  std::string prefix;
  std::string suffix;
  EntryPoint entry{};
  Original original;  ///< the trampoline, and the object's companion
  const void* address = nullptr;
};

/// The patched functions of an object, and the code beside it to which they jump.
struct PatchedCode {
  InstanceNumber object = 0;
  std::vector<std::unique_ptr<PatchedFunction>> functions;
  std::vector<platform::Span> code;
};

/// One object's, not yet registered.
using PatchRecord = std::list<PatchedCode>;

/// Made before the first function is changed: registering it needs no memory then.
PatchRecord make_record(PatchedCode patched);

/// Registers them.
void publish(PatchRecord record);

/// Ends what has been published for that object, which has been unloaded. No thread is in its functions any more.
void withdraw(InstanceNumber object);

/// Where a patched function is, and what acts like it.
struct PatchedPlace {
  const void* address;
  Original original;
};

/// The patched function at an address; nullopt if none is there.
std::optional<PatchedPlace> find_patched(const void* address);

/// The patched function that a trampoline stands for; nullopt if it is none.
std::optional<PatchedPlace> find_trampoline(const void* trampoline);

/// Whether exported names pass every call on, so that only patches see it (--intercept patch).
bool only_patched();
void set_only_patched(bool value);

}  // namespace blastoff::intercept
