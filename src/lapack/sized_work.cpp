#include "lapack/sized_work.h"

#include <array>
#include <limits>
#include <string_view>

#include "blas/integer.h"
#include "lapack/kinds.h"

namespace blastoff::lapack {
namespace {

constexpr operation::Work unknown{.volume = std::numeric_limits<double>::infinity()};

/// The arguments of a routine that count, at their positions among its words.
struct Positions {
  std::uint8_t m;
  std::uint8_t n;
  std::uint8_t k;
  std::uint8_t side;
  std::uint8_t job;
  std::uint8_t job_right;
  std::array<std::uint8_t, 3> work_sizes;
};

constexpr auto positions_of = [] {
  std::array<Positions, routine_count> all{};
  for (std::size_t i = 0; i < routine_count; ++i) {
    const ArgumentList& list = argument_lists[i];
    const auto first_of = [&](Argument argument, Argument other) {
      return list.position(list.has(argument) ? argument : other);
    };
    // Only the pivots tell how many rows are exchanged. There are no more than the matrix has.
    const bool exchange = row(routine_table[i].kind).family == Family::row_exchange;
    all[i] = {.m = exchange ? list.position(Argument::lda) : first_of(Argument::m, Argument::n),
              .n = list.position(Argument::n),
              .k = first_of(Argument::nrhs, Argument::k),
              .side = list.position(Argument::side),
              .job = list.position(Argument::job),
              .job_right = list.position(Argument::job_right),
              .work_sizes = {list.position(Argument::lwork), list.position(Argument::lrwork),
                             list.position(Argument::liwork)}};
  }
  return all;
}();

char letter_at(const void* address) {
  return static_cast<char>(*static_cast<const char*>(address) | 0x20);
}

}  // namespace

operation::Work sized_work(Routine routine, void* const* words, std::uint8_t integer_bytes) {
  const Positions& at = positions_of[static_cast<std::size_t>(routine)];
  const KindRow& kind = row(row(routine).kind);
  for (const std::uint8_t position : at.work_sizes)
    if (position != ArgumentList::absent && blas::integer_at(words[position], integer_bytes) == -1) return unknown;
  Problem problem{.routine = routine};
  problem.m = blas::integer_at(words[at.m], integer_bytes);
  problem.n = blas::integer_at(words[at.n], integer_bytes);
  problem.k = at.k == ArgumentList::absent ? 1 : blas::integer_at(words[at.k], integer_bytes);
  if (problem.m <= 0 || problem.n <= 0 || problem.k <= 0) return unknown;
  const auto read = [&](std::uint8_t position, std::string_view accepted, char& letter) {
    if (position == ArgumentList::absent) return true;
    letter = letter_at(words[position]);
    return accepted.find(letter) != std::string_view::npos;
  };
  if (!read(at.side, "lr", problem.side) || !read(at.job, kind.jobs, problem.job) ||
      !read(at.job_right, kind.jobs, problem.job_right))
    return unknown;
  if (at.job_right == ArgumentList::absent) problem.job_right = problem.job;
  return {.flops = flops(problem), .volume = volume(problem)};
}

}  // namespace blastoff::lapack
