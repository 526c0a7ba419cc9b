// Where a gate leads that is not open.
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
// By gates.S, for each gate: its code, its name, and the function behind it where all callers have the same one.
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

/// Searches the loaded objects.
class Search {
 public:
  explicit Search(const DynamicLinker& linker) : dlsym_(linker.dlsym) {
    linker.find(dlopen_, "dlopen");
    linker.find(dlclose_, "dlclose");
    linker.find(dladdr_, "dladdr");
    linker.find(dlinfo_, "dlinfo");
    linker.find(dlerror_, "dlerror");
  }

  /// As intercept::find_definition(), where no other object is in the global search order.
  void* definition_for(const void* caller, const char* name) const {
    if (dlopen_ == nullptr || dlclose_ == nullptr || dladdr_ == nullptr || dlinfo_ == nullptr || dlerror_ == nullptr)
      return nullptr;
    Dl_info calling{};
    const bool known = dladdr_(caller, &calling) != 0 && calling.dli_fname != nullptr;
    void* found = known ? found_by(calling.dli_fname, name) : nullptr;
    if (found == nullptr) found = found_by_any(name);
    dlerror_();  // a step that failed is no error of the program's
    return found;
  }

 private:
  /// By an object and what it depends on.
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

/// nullptr: the process has no other definition. `for_all`: whether all callers have that one.
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

/// What functions of the interface return while the gates are closed.
long no_answer() {
  return 0;
}

long not_known_yet() {
  return -1;
}

/// As the dynamic linker, where a name has no definition.
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

/// Not those that any constructor calls, in whatever state the process is.
bool opens(const char* name) {
  return !starts_with(name, "blastoff_") && !equal(name, "dlopen") && !equal(name, "dlmopen") &&
         !equal(name, "mremap") && !equal(name, "ioctl");
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

/// `caller` is a return address. What is returned is called in the gate's place: perhaps the gate itself, now that it
/// is open.
const void* blastoff_function_behind(const char* gate, const void* caller) {
  using namespace blastoff::entrance;
  const int saved_errno = &__real___errno_location != nullptr ? *__real___errno_location() : 0;
  const std::size_t number = static_cast<std::size_t>(gate - blastoff_gates) / blastoff_gate_bytes;
  if (blastoff_state.load() == State::undecided && opens(name_of(number))) blastoff_open();
  const void* const behind = blastoff_state.load() == State::open ? gate : behind_closed_gate(number, caller);
  if (&__real___errno_location != nullptr) *__real___errno_location() = saved_errno;
  return behind;
}
