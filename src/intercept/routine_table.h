// What this module has to know about a front end: the names of its routines, their spellings, how they are told from a
// program's own functions, and their hooks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "abi/convention.h"
#include "intercept/evidence/role.h"
#include "operation/front_end.h"

namespace blastoff::intercept {

struct RoutineTable;

/// A routine of a front end.
struct Routine {
  const RoutineTable* table = nullptr;
  std::uint16_t number = 0;  ///< its number within the front end

  std::string_view name() const;  ///< without decoration: "dgemm". NUL-terminated
  bool operator==(const Routine& other) const = default;
};

/// One exported name.
struct EntryPoint {
  const char* symbol;  ///< "scipy_cblas_dgemm64_"
  const char* prefix;  ///< "scipy_" or "": siblings of the same library are spelled prefix + name + suffix
  const char* suffix;  ///< "64_"
  Routine routine;
  abi::Convention convention;
  bool undecorated;  ///< plain "dgemm": might be a program's own function, see intercept/original.h
};

enum class Decoration : std::uint8_t {
  ambiguous,    ///< a library of 64-bit integers may define this name too
  suffixed,     ///< the name says that integers have 64 bits
  undecorated,  ///< might be a program's own function
};

/// A way to spell a routine's name. The spelling tells how the function is called, in any object.
struct Spelling {
  std::string_view prefix;
  std::string_view suffix;
  abi::Style style;
  Decoration decoration;
};

using Hook = void (*)();

constexpr std::uint16_t routine_itself(std::uint16_t routine) {
  return routine;
}
constexpr Signature no_signature(abi::Style, std::uint16_t) {
  return {};
}
constexpr bool no_company(std::uint16_t, std::uint16_t) {
  return false;
}

constexpr std::string_view told_by_its_arguments(std::uint16_t) {
  return {};
}

/// The names in a front end's rows, in their order.
template <class Row, std::size_t count>
constexpr std::array<std::string_view, count> names_of(const Row (&rows)[count]) {
  std::array<std::string_view, count> names{};
  for (std::size_t i = 0; i < count; ++i) names[i] = rows[i].name;
  return names;
}

/// One constant object for each front end.
struct RoutineTable {
  operation::FrontEnd& (*front_end)();

  /// Indexed by the routine's number, in small letters: see symbols/name_search.h. NUL-terminated.
  std::span<const std::string_view> names;
  std::span<const Spelling> spellings;
  /// All spellings of the first routine, of the second, ...; routines at the end of the table may have none, because
  /// their names are not exported. Empty where the front end exports no names.
  std::span<const EntryPoint> entry_points{};
  /// For each entry point for which no definition was found: when that was. Used by original.cpp.
  std::span<std::atomic<std::uint64_t>> absent;

  /// The C interface's own prefix, which follows a builder's prefix: "cblas_". Empty: builders choose no prefixes.
  std::string_view c_prefix{};
  /// Suffixes of inner Fortran functions that some libraries call from the ones that they export.
  std::span<const std::string_view> inner_suffixes{};

  /// Maps a routine to a number that it shares with routines that do the same with the same calling convention.
  std::uint16_t (*meaning)(std::uint16_t routine) = &routine_itself;
  /// The parameters of its functions, with which a function's code can be compared.
  Signature (*signature)(abi::Style style, std::uint16_t routine) = &no_signature;
  /// Whether a library that has `routine` under its undecorated name also has `other`.
  bool (*accompanies)(std::uint16_t routine, std::uint16_t other) = &no_company;
  /// Why an undecorated name is left alone if these other routines are missing: one line.
  const char* without_company = "";
  /// Functions of which an object must define at least one for its functions to be taken for routines of the table.
  /// Empty: none is needed.
  std::span<const std::string_view> needed_beside{};
  /// The function of the same object that tells what a routine computes. Empty: the arguments tell it.
  std::string_view (*told_by)(std::uint16_t routine) = &told_by_its_arguments;
  /// Whether a function's arguments alone may show that it is the routine. Else the object must be a known library, or
  /// have the routine's company and xerbla_.
  bool arguments_suffice = true;

  /// The routine of the same library that computes another routine's pieces or verifies it; the routine itself: none.
  std::uint16_t (*companion)(std::uint16_t routine) = &routine_itself;
  /// The libraries in which systems keep the routines, for programs that were linked without one. The first library
  /// that exists and has the routine is loaded.
  std::span<const char* const> system_libraries{};
  /// The hook that replaces a patched function. It finds that function in blastoff_called (patch/hooks.h).
  Hook (*hook)(abi::Style style, std::uint16_t routine);
};

inline std::string_view Routine::name() const {
  return table->names[number];
}

inline Routine companion_of(const Routine& routine) {
  return {routine.table, routine.table->companion(routine.number)};
}

/// Returns the entry point of another routine of the same front end with the same style, prefix and suffix: dgemm_ for
/// dsyrk_. nullptr if `entry` does not belong to the table, or if the routine has no entry points.
const EntryPoint* sibling(const EntryPoint& entry, const Routine& routine);

}  // namespace blastoff::intercept
