// All front ends. A new front end adds its names and its table here, and nothing elsewhere in this module.
#pragma once

#include <array>
#include <span>

#include "intercept/blas/entry_points.h"
#include "intercept/fft/entry_points.h"
#include "intercept/lapack/entry_points.h"
#include "intercept/routine_table.h"
#include "intercept/scalapack/entry_points.h"
#include "intercept/vectors/entry_points.h"

namespace blastoff::intercept {

template <std::size_t... sizes>
constexpr auto joined(const std::array<std::string_view, sizes>&... lists) {
  std::array<std::string_view, (sizes + ...)> all{};
  std::size_t count = 0;
  const auto append = [&](const auto& list) {
    for (const std::string_view name : list) all[count++] = name;
  };
  (append(lists), ...);
  return all;
}

/// The names of all routines. The search through symbol tables is compiled for them.
inline constexpr auto routine_names = joined(blas_names, lapack_names, fft_names, scalapack_names, vector_names);

std::span<const RoutineTable* const> front_ends();

}  // namespace blastoff::intercept
