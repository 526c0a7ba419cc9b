// The patched functions, with what their hooks need, and their names.
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
  void (*hook)() = nullptr;  ///< must be the first member: the entry stub's code jumps through it
  std::string symbol;        ///< entry.symbol points to it, entry.prefix to `prefix` and entry.suffix to `suffix`
  std::string prefix;
  std::string suffix;
  EntryPoint entry{};
  Original original;  ///< the trampoline, and the companion in the same object
  const void* address = nullptr;
};

/// The patched functions of an object, and the code beside it to which they jump.
struct PatchedCode {
  InstanceNumber object = 0;
  std::vector<std::unique_ptr<PatchedFunction>> functions;
  std::vector<platform::Span> code;
};

/// The patched functions of one object, not yet registered.
using PatchRecord = std::list<PatchedCode>;

/// Makes the record. It is made before the first function is changed, so that registering it needs no memory.
PatchRecord make_record(PatchedCode patched);

/// Registers the functions.
void publish(PatchRecord record);

/// Removes what was published for an object that has been unloaded. No thread is in its functions any more.
void withdraw(InstanceNumber object);

/// The address of a patched function, and the function that acts like the unpatched one.
struct PatchedPlace {
  const void* address;
  Original original;
  const RoutineTable* table = nullptr;  ///< of the routine as which it was patched
};

/// Returns the patched function at an address; nullopt if there is none.
std::optional<PatchedPlace> find_patched(const void* address);

/// Returns the patched function to which a trampoline belongs; nullopt if it belongs to none.
std::optional<PatchedPlace> find_trampoline(const void* trampoline);

/// Whether exported names pass every call on, so that only patched functions are intercepted (--intercept patch).
bool only_patched();
void set_only_patched(bool value);

}  // namespace blastoff::intercept
