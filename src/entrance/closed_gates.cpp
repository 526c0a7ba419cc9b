// Finds the function to which a closed gate leads.
#include <dlfcn.h>
#include <link.h>

#include <cstdint>

#include "entrance/entrance.h"

#pragma weak __real___errno_location

#pragma GCC visibility push(default)
extern "C" int* __real___errno_location(void) noexcept;  // NOLINT(bugprone-reserved-identifier)
#pragma GCC visibility pop

#pragma GCC visibility push(hidden)
extern "C" {
extern const char __ehdr_start, _end;  // NOLINT(bugprone-reserved-identifier)
// From gates.S, for each gate: its code, its name, and the function behind it if that is the same for all callers.
extern const char blastoff_gates[];
extern const std::uint64_t blastoff_gate_bytes;
extern const char blastoff_gate_names[];
extern const std::uint32_t blastoff_gate_offsets[];
extern std::atomic<const void*> blastoff_next_functions[];
void blastoff_open();
const void* blastoff_function_behind(const char* gate, const void* caller);
}
#pragma GCC visibility pop

namespace blastoff::entrance {
namespace {

bool is_ours(const void* address) {
  return &__ehdr_start <= address && address < &_end;
}

/// Searches the loaded objects for a definition.
class Search {
 public:
  explicit Search(const DynamicLinker& linker) : dlsym_(linker.dlsym) {
    linker.find(dlopen_, "dlopen");
    linker.find(dlclose_, "dlclose");
    linker.find(dladdr_, "dladdr");
    linker.find(dlinfo_, "dlinfo");
    linker.find(dlerror_, "dlerror");
  }

  /// Like intercept::find_definition(), for a name that no other object in the global search order defines.
  void* definition_for(const void* caller, const char* name) const {
    if (dlopen_ == nullptr || dlclose_ == nullptr || dladdr_ == nullptr || dlinfo_ == nullptr || dlerror_ == nullptr)
      return nullptr;
    Dl_info calling{};
    const bool known = dladdr_(caller, &calling) != 0 && calling.dli_fname != nullptr;
    void* found = known ? found_by(calling.dli_fname, name) : nullptr;
    if (found == nullptr) found = found_by_any(name);
    dlerror_();  // a failed step must not appear as an error of the program
    return found;
  }

 private:
  /// Searches an object and its dependencies.
  void* found_by(const char* path, const char* name) const {
    void* const handle = dlopen_(path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return nullptr;
    void* const found = dlsym_(handle, name);
    dlclose_(handle);
    return is_ours(found) ? nullptr : found;
  }

  void* found_by_any(const char* name) const {
    void* const program = dlopen_(nullptr, RTLD_LAZY);
    link_map* object = nullptr;
    if (program == nullptr || dlinfo_(program, RTLD_DI_LINKMAP, static_cast<void*>(&object)) != 0) return nullptr;
    for (; object != nullptr; object = object->l_next)
      if (void* const found = found_by(object->l_name, name)) return found;
    return nullptr;
  }

  decltype(DynamicLinker::dlsym) dlsym_;
  void* (*dlopen_)(const char* file, int mode) = nullptr;
  int (*dlclose_)(void* handle) = nullptr;
  int (*dladdr_)(const void* address, Dl_info* info) = nullptr;
  int (*dlinfo_)(void* handle, int request, void* result) = nullptr;
  char* (*dlerror_)() = nullptr;
};

/// Returns the next definition; nullptr: the process has no other one. `for_all`: set to whether it is the same for all
/// callers.
const void* next_function(const char* name, const void* caller, bool& for_all) {
  const DynamicLinker linker = dynamic_linker();
  if (!linker) return nullptr;
  const void* const next = linker.find(name);
  for_all = next != nullptr;
  return for_all ? next : Search(linker).definition_for(caller, name);
}

void* ask_for_next(const char* name) {
  const DynamicLinker linker = dynamic_linker();
  return linker ? linker.find(name) : nullptr;
}

/// The result of the interface's functions while the gates are closed.
long no_answer() {
  return 0;
}

long not_known_yet() {
  return -1;
}

/// Ends the process, as the dynamic linker does if a name has no definition.
[[noreturn]] void end_for_want_of(const char* name) {
  int (*print)(int file, const char* format, ...) = nullptr;
  void (*end)(int status) = nullptr;
  if (const DynamicLinker linker = dynamic_linker()) {
    linker.find(print, "dprintf");
    linker.find(end, "_exit");
  }
  constexpr int standard_error = 2;
  constexpr int status = 127;
  if (print != nullptr) print(standard_error, "blastoff: %s is called, and no library defines it\n", name);
  if (end != nullptr) end(status);
  __builtin_trap();
}

const char* name_of(std::size_t number) {
  return blastoff_gate_names + blastoff_gate_offsets[number];
}

/// Whether a call opens the gates. Functions that constructors may call at any time do not.
bool opens(const char* name) {
  return !starts_with(name, "blastoff_") && !equal(name, "dlopen") && !equal(name, "dlmopen") &&
         !equal(name, "mremap") && !equal(name, "mprotect") && !equal(name, "ioctl");
}

const void* behind_closed_gate(std::size_t number, const void* caller) {
  if (const void* const known = blastoff_next_functions[number].load(std::memory_order_acquire)) return known;
  const char* const name = name_of(number);
  bool for_all = true;
  const void* behind = reinterpret_cast<const void*>(&no_answer);
  if (equal(name, "blastoff_next_definition")) {
    behind = reinterpret_cast<const void*>(&ask_for_next);
  } else if (equal(name, "blastoff_hears_of_memory") && blastoff_state.load() != State::closed) {
    behind = reinterpret_cast<const void*>(&not_known_yet);
    for_all = false;
  } else if (!starts_with(name, "blastoff_")) {
    behind = next_function(name, caller, for_all);
  }
  if (behind == nullptr) end_for_want_of(name);
  if (for_all) blastoff_next_functions[number].store(behind, std::memory_order_release);
  return behind;
}

}  // namespace
}  // namespace blastoff::entrance

/// `caller` is a return address. The returned function is called instead of the gate. It is the gate itself if the gate
/// has been opened.
const void* blastoff_function_behind(const char* gate, const void* caller) {
  using namespace blastoff::entrance;
  const int saved_errno = &__real___errno_location != nullptr ? *__real___errno_location() : 0;
  const std::size_t number = static_cast<std::size_t>(gate - blastoff_gates) / blastoff_gate_bytes;
  if (blastoff_state.load() == State::undecided && opens(name_of(number))) blastoff_open();
  const void* const behind = blastoff_state.load() == State::open ? gate : behind_closed_gate(number, caller);
  if (&__real___errno_location != nullptr) *__real___errno_location() = saved_errno;
  return behind;
}
