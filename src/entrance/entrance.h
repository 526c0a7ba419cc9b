// What stands between the dynamic linker and the library. libblastoff.so is preloaded into whatever a job starts, in
// containers too: programs of an older C library, and of another one. So the dynamic linker sees nothing that could
// keep a program from starting: no version of a symbol, and no symbol that not every C library has, but as a weak
// reference. Every exported name is a gate, and every function of the C library is called through a slot (gates_*.inc;
// the lists of both come from a first link, cmake/entrance.cmake). The constructor looks at the C library. If the
// library can run on it, the slots are filled, the library's own constructors run, and the gates open. Else nothing of
// the library ever runs, and each gate leads to the function that its caller would have reached without us.
//
// What lies in this folder runs before the slots are filled, later_functions.cpp excepted: it calls nothing but weak
// references, and is compiled for itself alone, without a C++ runtime.
#pragma once

#include <atomic>
#include <cstddef>

namespace blastoff::entrance {

enum class State : unsigned char { undecided, open, opening, closed };

/// A function that the oldest supported C library may lack.
struct LaterFunction {
  const char* name;
  void* substitute;
};

/// Fills all slots. False if this C library has no function for one, or is not one that the library can run on.
bool fill_slots();

/// The functions of dlfcn.h, before the slots are filled.
struct DynamicLinker {
  void* (*dlsym)(void* handle, const char* name) = nullptr;
  void* libdl = nullptr;  ///< the library they lie in, if not every process has it; nullptr: every one has them
  explicit operator bool() const { return dlsym != nullptr; }

  template <class Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(find(name));
  }
  /// The C library's own, also of a name that is exported here; nullptr: it has none.
  [[gnu::noinline]] void* find(const char* name) const;
};

/// False where there is none: then nothing but what is there already was ever looked up in the process.
DynamicLinker dynamic_linker();

bool equal(const char* left, const char* right);
bool starts_with(const char* text, const char* beginning);
/// The text behind this one's final zero.
const char* next_text(const char* text);

}  // namespace blastoff::entrance

#pragma GCC visibility push(hidden)
extern "C" {
/// Each gate looks at it.
extern constinit std::atomic<blastoff::entrance::State> blastoff_state;  // NOLINT(bugprone-dynamic-static-initializers)
// NOLINTBEGIN(bugprone-dynamic-static-initializers): the compiler initializes them, as tests/unit/entrance sees
extern const blastoff::entrance::LaterFunction blastoff_later_functions[];
extern const std::size_t blastoff_later_function_count;
// NOLINTEND(bugprone-dynamic-static-initializers)
}
#pragma GCC visibility pop
