// What this module has to know of a front end: its routines' names, how they are spelled and told from functions of
// other people, and what a call of them does.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "abi/convention.h"
#include "intercept/evidence/role.h"
#include "operation/front_end.h"

namespace blastoff::intercept {

struct RoutineTable;

/// A routine of a front end's.
struct Routine {
  const RoutineTable* table = nullptr;
  std::uint16_t number = 0;  ///< among the front end's

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
  bool undecorated;  ///< plain "dgemm": might be someone's own function, see intercept/original.h
};

enum class Decoration : std::uint8_t {
  ambiguous,    ///< a library of 64-bit integers may define it too
  suffixed,     ///< 64-bit integers
  undecorated,  ///< might be anybody's
};

/// A way to write a routine's name, that tells how it is called whatever the object.
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

/// One constant object for each front end.
struct RoutineTable {
  operation::FrontEnd& (*front_end)();

  /// By number, in small letters: see symbols/name_search.h. NUL-terminated.
  std::span<const std::string_view> names;
  std::span<const Spelling> spellings;
  /// All spellings of the first routine, of the second, ...; empty where the front end exports no names.
  std::span<const EntryPoint> entry_points;
  /// For each entry point without any definition: when that was found. original.cpp's.
  std::span<std::atomic<std::uint64_t>> absent;

  /// What a name of the C interface begins with behind a builder's own prefix: "cblas_". Empty: builders choose none.
  std::string_view c_prefix;
  /// Suffixes of the Fortran functions that some libraries have behind those that they export.
  std::span<const std::string_view> inner_suffixes;

  /// The routine, by one number, that does the same in the same calling convention under whatever name.
  std::uint16_t (*meaning)(std::uint16_t routine) = &routine_itself;
  /// What its functions take, whose code can be compared with that.
  Signature (*signature)(abi::Style style, std::uint16_t routine) = &no_signature;
  /// Whether a library that has `routine` under its undecorated name has `other` too.
  bool (*accompanies)(std::uint16_t routine, std::uint16_t other) = &no_company;
  /// Why an undecorated name is left alone without them: one line.
  const char* without_company = "";

  /// The routine of the same library that is needed beside another, for its pieces or its verification; itself: none.
  std::uint16_t (*companion)(std::uint16_t routine) = &routine_itself;
  /// The libraries in which systems keep the routines, for programs that were linked without one. The first that is
  /// there and has the routine is taken.
  std::span<const char* const> system_libraries;
  /// What a patched function does instead. It finds that function in blastoff_called (patch/hooks.h).
  Hook (*hook)(abi::Style style, std::uint16_t routine);
};

inline std::string_view Routine::name() const {
  return table->names[number];
}

inline Routine companion_of(const Routine& routine) {
  return {routine.table, routine.table->companion(routine.number)};
}

/// The entry point of another routine of the same front end with the same style, prefix and suffix: dgemm_ for dsyrk_.
/// nullptr if `entry` is none of the table's.
const EntryPoint* sibling(const EntryPoint& entry, const Routine& routine);

}  // namespace blastoff::intercept
