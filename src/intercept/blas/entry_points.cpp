#include "intercept/blas/entry_points.h"

#include <array>

#include "abi/arguments.h"
#include "abi/original_routine.h"
#include "blas/front_end.h"

namespace blastoff::intercept {

constinit const EntryPoint blas_entry_points[] = {
#define BLASTOFF_ENTRY(prefix, name, suffix, style, integers, decoration, kind, scalar) \
  BLASTOFF_ENTRY_POINT(blas_routine(blas::Routine::name), prefix, name, suffix, style, integers, decoration)
#define BLASTOFF_ENTRIES(name, kind, scalar) BLASTOFF_SPELLINGS(BLASTOFF_ENTRY, name, kind, scalar)
    BLASTOFF_EXPORTED_ROUTINES(BLASTOFF_ENTRIES)
#undef BLASTOFF_ENTRIES
#undef BLASTOFF_ENTRY
};

namespace {

constexpr Spelling spellings[] = {BLASTOFF_SPELLINGS(BLASTOFF_SPELLING_OF, dgemm, gemm, d)};

constinit std::array<std::atomic<std::uint64_t>, std::size(blas_entry_points)> absent{};

const blas::RoutineRow& row_of(std::uint16_t routine) {
  return blas::routine_table[routine];
}

std::uint16_t meaning(std::uint16_t routine) {
  return static_cast<std::uint16_t>(blas::routine_of(row_of(routine).kind, row_of(routine).scalar));
}

/// Whether `other` is a level 3 routine of the BLAS standard for the same element type. Not all complex libraries have
/// the Hermitian kinds, so these do not count.
bool accompanies(std::uint16_t routine, std::uint16_t other) {
  switch (row_of(other).kind) {
    case blas::Kind::gemm:
    case blas::Kind::symm:
    case blas::Kind::syrk:
    case blas::Kind::syr2k:
    case blas::Kind::trmm:
    case blas::Kind::trsm: return row_of(other).scalar == row_of(routine).scalar && meaning(other) == other;
    default: return false;
  }
}

constexpr Role role_of(blas::Kind kind, abi::Argument argument, abi::Style style, bool complex) {
  using enum abi::Argument;
  const bool fortran = style == abi::Style::fortran;
  if (argument == length) return Role::length;
  if (blas::is_grouped(kind) && argument != order && argument != group_count) {
    if (abi::detail::is_option(argument) && fortran) return Role::letters;
    return argument == alpha || argument == beta ? Role::array : Role::integers;  // addresses count as integers
  }
  if (argument == order || abi::detail::is_option(argument)) return fortran ? Role::letter : Role::number;
  if (abi::is_size(argument)) return fortran ? Role::integer : Role::number;
  if (argument != alpha && argument != beta) return Role::array;
  const bool is_real = !complex || kind == blas::Kind::herk || (kind == blas::Kind::her2k && argument == beta);
  return is_real && !fortran ? Role::value : Role::real;
}

template <blas::Kind kind, abi::Style style, abi::Argument... arguments>
std::span<const Role> roles(abi::ArgumentList<arguments...>, bool complex) {
  static constexpr std::array of_real = {role_of(kind, arguments, style, false)...};
  static constexpr std::array of_complex = {role_of(kind, arguments, style, true)...};
  return complex ? std::span<const Role>(of_complex) : std::span<const Role>(of_real);
}

template <blas::Kind kind>
std::span<const Role> roles(abi::Style style, bool complex) {
  using enum abi::Style;
  return style == fortran ? roles<kind, fortran>(abi::Arguments<fortran, kind>{}, complex)
                          : roles<kind, cblas>(abi::Arguments<cblas, kind>{}, complex);
}

std::span<const Role> roles(blas::Kind kind, abi::Style style, bool complex) {
  using blas::Kind;
  switch (kind) {
    case Kind::gemm: return roles<Kind::gemm>(style, complex);
    case Kind::gemmt: return roles<Kind::gemmt>(style, complex);
    case Kind::symm: return roles<Kind::symm>(style, complex);
    case Kind::hemm: return roles<Kind::hemm>(style, complex);
    case Kind::syrk: return roles<Kind::syrk>(style, complex);
    case Kind::herk: return roles<Kind::herk>(style, complex);
    case Kind::syr2k: return roles<Kind::syr2k>(style, complex);
    case Kind::her2k: return roles<Kind::her2k>(style, complex);
    case Kind::trmm: return roles<Kind::trmm>(style, complex);
    case Kind::trsm: return roles<Kind::trsm>(style, complex);
    case Kind::gemv: return roles<Kind::gemv>(style, complex);
    case Kind::symv: return roles<Kind::symv>(style, complex);
    case Kind::hemv: return roles<Kind::hemv>(style, complex);
    case Kind::gemm_batch: return roles<Kind::gemm_batch>(style, complex);
    case Kind::gemm_batch_strided: return roles<Kind::gemm_batch_strided>(style, complex);
    case Kind::trsm_batch: return roles<Kind::trsm_batch>(style, complex);
    case Kind::trsm_batch_strided: return roles<Kind::trsm_batch_strided>(style, complex);
  }
  return {};
}

Signature signature(abi::Style style, std::uint16_t routine) {
  const blas::RoutineRow& row = row_of(routine);
  return {roles(row.kind, style, blas::is_complex(row.scalar)), row.scalar};
}

std::uint16_t companion(std::uint16_t routine) {
  return static_cast<std::uint16_t>(abi::companion_of(static_cast<blas::Routine>(routine)));
}

}  // namespace

constinit const RoutineTable blas_routines = {
    .front_end = &blas::front_end,
    .names = blas_names,
    .spellings = spellings,
    .entry_points = blas_entry_points,
    .absent = absent,
    .c_prefix = "cblas_",
    .inner_suffixes = blas_inner_suffixes,
    .meaning = &meaning,
    .signature = &signature,
    .accompanies = &accompanies,
    .without_company = "no underscore, in an object without all of level 3",
    .companion = &companion,
    .system_libraries = blas_libraries,
    .hook = &blas_hook,
};

}  // namespace blastoff::intercept
