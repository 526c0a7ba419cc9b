#include "intercept/lapack/entry_points.h"

#include <array>

#include "lapack/kinds.h"
#include "lapack/problem.h"

namespace blastoff::intercept {

constinit const EntryPoint lapack_entry_points[] = {
#define BLASTOFF_ENTRY(prefix, name, suffix, style, integers, decoration, kind, scalar) \
  BLASTOFF_ENTRY_POINT(lapack_routine(lapack::Routine::name), prefix, name, suffix, style, integers, decoration)
#define BLASTOFF_ENTRIES(name, kind, scalar) BLASTOFF_LAPACK_SPELLINGS(BLASTOFF_ENTRY, name, kind, scalar)
    BLASTOFF_LAPACK_ROUTINES(BLASTOFF_ENTRIES)
#undef BLASTOFF_ENTRIES
#undef BLASTOFF_ENTRY
};

namespace {

constexpr Spelling spellings[] = {BLASTOFF_LAPACK_SPELLINGS(BLASTOFF_SPELLING_OF, dgetrf, getrf, d)};

constexpr const char* system_libraries[] = {"liblapack.so.3", "libopenblas.so.0", "libflexiblas.so.3"};

constinit std::array<std::atomic<std::uint64_t>, std::size(lapack_entry_points)> absent{};

/// Whether `other` is a factorization of the same element type.
bool accompanies(std::uint16_t routine, std::uint16_t other) {
  const lapack::RoutineRow& of = lapack::routine_table[other];
  return lapack::row(of.kind).action == lapack::Action::factor && of.scalar == lapack::routine_table[routine].scalar;
}

constexpr Role role_of(lapack::Argument argument) {
  using lapack::Argument;
  if (lapack::is_letter(argument)) return Role::letter;
  if (lapack::is_integer(argument)) return Role::integer;
  if (lapack::is_real(argument)) return Role::real;
  switch (argument) {
    case Argument::ipiv:
    case Argument::found:
    case Argument::isuppz:
    case Argument::ifail:
    case Argument::rank:
    case Argument::info:
    case Argument::iwork: return Role::integers;
    default: return Role::array;
  }
}

struct Roles {
  std::array<Role, lapack::max_words> of{};
  std::size_t count = 0;
};

/// Indexed by routine. The lengths of the letters follow the arguments.
constexpr auto roles = [] {
  std::array<Roles, lapack::routine_count> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const lapack::Argument argument : lapack::argument_lists[i]) all[i].of[all[i].count++] = role_of(argument);
    while (all[i].count < lapack::argument_lists[i].words()) all[i].of[all[i].count++] = Role::length;
  }
  return all;
}();

Signature signature(abi::Style, std::uint16_t routine) {
  return {std::span(roles[routine].of).first(roles[routine].count), lapack::routine_table[routine].scalar};
}

}  // namespace

constinit const RoutineTable lapack_routines = {
    .front_end = &lapack::lapack,
    .names = lapack_names,
    .spellings = spellings,
    .entry_points = lapack_entry_points,
    .absent = absent,
    .c_prefix = "lapacke_",
    .signature = &signature,
    .accompanies = &accompanies,
    .without_company = "no underscore, in an object without LAPACK's factorizations",
    .system_libraries = system_libraries,
    .hook = &lapack_hook,
};

}  // namespace blastoff::intercept
