// The code that comes between the dynamic linker and the library. libblastoff.so is preloaded into every program that a
// job starts, also in containers: programs with an older C library, or with another one. So the dynamic linker must see
// nothing in it that could keep a program from starting: no version of a symbol, and, except as a weak reference, no
// symbol that some C library lacks. Every exported name is a gate, and every function of the C library is called
// through a slot (gates_*.inc; the lists of gates and slots come from a first link, cmake/entrance.cmake). The
// constructor looks at the C library. If the library can run on it, the slots are filled, the library's own
// constructors run, and the gates open. If not, none of the library's code ever runs, and each gate leads to the
// function that its caller would have reached without us.
//
// The code in this folder runs before the slots are filled, except later_functions.cpp. It calls nothing but weak
// references, and is compiled separately, without a C++ runtime.
#pragma once

#include <atomic>
#include <cstddef>

namespace blastoff::entrance {

enum class State : unsigned char { undecided, open, opening, closed };

/// A function that the oldest supported C library may lack, and its substitute.
struct LaterFunction {
  const char* name;
  void* substitute;
};

/// Fills all slots. Returns false if the library cannot run on this C library, or if a function was found nowhere.
bool fill_slots();

/// The functions of dlfcn.h, for use before the slots are filled.
struct DynamicLinker {
  void* (*dlsym)(void* handle, const char* name) = nullptr;
  void* libdl = nullptr;  ///< the library that contains these functions, if not every process has it; nullptr: every
                          ///< process has them
  explicit operator bool() const { return dlsym != nullptr; }

  template <class Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(find(name));
  }
  /// Returns the C library's function, even if this library exports the same name; nullptr: it has none.
  [[gnu::noinline]] void* find(const char* name) const;
};

/// Converts to false if the process has no dlsym(). Then nothing can be looked up by name.
DynamicLinker dynamic_linker();

bool equal(const char* left, const char* right);
bool starts_with(const char* text, const char* beginning);
/// Returns the text behind the final zero of this one.
const char* next_text(const char* text);

}  // namespace blastoff::entrance

#pragma GCC visibility push(hidden)
extern "C" {
/// Each gate reads this.
extern constinit std::atomic<blastoff::entrance::State> blastoff_state;  // NOLINT(bugprone-dynamic-static-initializers)
// NOLINTBEGIN(bugprone-dynamic-static-initializers): the compiler initializes them, as tests/unit/entrance sees
extern const blastoff::entrance::LaterFunction blastoff_later_functions[];
extern const std::size_t blastoff_later_function_count;
// NOLINTEND(bugprone-dynamic-static-initializers)
}
#pragma GCC visibility pop
