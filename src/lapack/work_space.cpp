#include "lapack/work_space.h"

#include <algorithm>
#include <cmath>

#include "lapack/problem.h"

namespace blastoff::lapack::work_space {
namespace {

bool complex(const Problem& problem) {
  return blas::is_complex(problem.scalar());
}

std::int64_t longer_side(const Problem& problem) {
  return std::max(problem.m, problem.n);
}

/// Whether one side is so much longer than the other (by `ratio`) that LAPACK first makes the matrix square.
bool is_oblong(const Problem& problem, double ratio) {
  return longer_side(problem) >= static_cast<std::int64_t>(static_cast<double>(problem.min_side()) * ratio);
}

WorkSizes packed_divide_and_conquer(const Problem& problem, std::int64_t matrices) {
  const std::int64_t n = problem.n;
  if (n <= 1) return {};
  if (complex(problem)) {
    if (problem.wants_vectors()) return {2 * n, 1 + 5 * n + 2 * n * n, 3 + 5 * n};
    return {n, n, 1};
  }
  if (problem.wants_vectors()) return {1 + 6 * n + matrices * n * n, 1, 3 + 5 * n};
  return {2 * n, 1, 1};
}

std::int64_t complex_gesdd(const Problem& problem) {
  const std::int64_t low = problem.min_side();
  const std::int64_t high = longer_side(problem);
  const std::int64_t square = low * low;
  if (!is_oblong(problem, 17.0 / 9)) return 2 * low + high + (problem.job == 'o' ? square : 0);
  switch (problem.job) {
    case 'n': return 3 * low;
    case 'o': return 2 * square + 3 * low;
    case 's': return square + 3 * low;
    default: return square + std::max(3 * low, low + high);
  }
}

std::int64_t real_gesdd(const Problem& problem) {
  const std::int64_t low = problem.min_side();
  const std::int64_t high = longer_side(problem);
  const std::int64_t square = low * low;
  const std::int64_t inner = problem.job == 'n' ? 7 * low : 3 * square + 4 * low;
  if (!is_oblong(problem, 11.0 / 6)) return 3 * low + std::max(high, inner + (problem.job == 'o' ? square : 0));
  switch (problem.job) {
    case 'n': return inner + low;
    case 'o': return inner + 2 * square + 3 * low;
    case 's': return inner + square + 3 * low;
    default: return square + std::max(3 * low + inner, low + high);
  }
}

}  // namespace

WorkSizes none(const Problem&) {
  return {};
}

WorkSizes columns(const Problem& problem) {
  return {problem.n};
}

WorkSizes norm(const Problem& problem) {
  return {.work = longer_side(problem)};
}

WorkSizes ormqr(const Problem& problem) {
  return {problem.side == 'l' ? problem.n : problem.m};
}

WorkSizes gels(const Problem& problem) {
  return {problem.min_side() + std::max(problem.min_side(), problem.k)};
}

// For matrices that are much wider than high, some releases of LAPACK accept less.
WorkSizes gelsd(const Problem& problem) {
  constexpr std::int64_t leaf = 25;  // the largest problem at the bottom of the recursion
  const std::int64_t low = problem.min_side();
  const std::int64_t high = longer_side(problem);
  const double leaves = static_cast<double>(low) / static_cast<double>(leaf + 1);
  const std::int64_t levels = leaves > 0.5 ? static_cast<std::int64_t>(std::log2(leaves)) + 1 : 0;
  const std::int64_t integers = 3 * low * levels + 11 * low;
  if (!complex(problem))
    return {12 * low + 2 * low * leaf + 8 * low * levels + low * problem.k + (leaf + 1) * (leaf + 1), 1, integers};
  const std::int64_t rows = problem.m >= problem.n && is_oblong(problem, 1.6) ? low : high;
  const std::int64_t in_leaf = std::max((leaf + 1) * (leaf + 1), problem.n * (1 + problem.k) + 2 * problem.k);
  return {2 * low + std::max(rows, low * problem.k),
          10 * low + 2 * low * leaf + 8 * low * levels + 3 * leaf * problem.k + in_leaf, integers};
}

WorkSizes gelss(const Problem& problem) {
  const std::int64_t low = problem.min_side();
  const std::int64_t high = longer_side(problem);
  if (complex(problem)) return {2 * low + std::max(problem.k, high), 5 * low};
  const std::int64_t rows = problem.m >= problem.n && is_oblong(problem, 1.6) ? low : high;
  return {std::max({3 * low + rows, 3 * low + problem.k, 5 * low})};
}

WorkSizes syev(const Problem& problem) {
  const std::int64_t n = problem.n;
  return {complex(problem) ? 2 * n - 1 : 3 * n - 1, 3 * n - 2};
}

WorkSizes syevd(const Problem& problem) {
  const std::int64_t n = problem.n;
  if (n <= 1) return {};
  if (complex(problem)) {
    if (problem.wants_vectors()) return {2 * n + n * n, 1 + 5 * n + 2 * n * n, 3 + 5 * n};
    return {n + 1, n, 1};
  }
  if (problem.wants_vectors()) return {1 + 6 * n + 2 * n * n, 1, 3 + 5 * n};
  return {2 * n + 1, 1, 1};
}

WorkSizes syevr(const Problem& problem) {
  const std::int64_t n = problem.n;
  return complex(problem) ? WorkSizes{2 * n, 24 * n, 10 * n} : WorkSizes{26 * n, 1, 10 * n};
}

WorkSizes sygvx(const Problem& problem) {
  return {complex(problem) ? 2 * problem.n : 8 * problem.n, 7 * problem.n, 5 * problem.n};
}

WorkSizes syevx(const Problem& problem) {
  WorkSizes sizes = sygvx(problem);
  if (problem.n <= 1) sizes.work = 1;
  return sizes;
}

WorkSizes spev(const Problem& problem) {
  const std::int64_t n = problem.n;
  return {complex(problem) ? 2 * n - 1 : 3 * n, 3 * n - 2};
}

WorkSizes spevd(const Problem& problem) {
  return packed_divide_and_conquer(problem, 1);
}

WorkSizes spgvd(const Problem& problem) {
  return packed_divide_and_conquer(problem, 2);
}

WorkSizes gesdd(const Problem& problem) {
  const std::int64_t low = problem.min_side();
  const std::int64_t high = longer_side(problem);
  return {complex(problem) ? complex_gesdd(problem) : real_gesdd(problem),
          std::max(7 * low, std::max(5 * low * low + 5 * low, 2 * high * low + 2 * low * low + low)), 8 * low};
}

WorkSizes gesvd(const Problem& problem) {
  const std::int64_t low = problem.min_side();
  const std::int64_t high = longer_side(problem);
  const char job = problem.m >= problem.n ? problem.job : problem.job_right;  // the option for the vectors along the
                                                                              // longer side
  const bool values_of_square = job == 'n' && is_oblong(problem, 1.6);
  if (complex(problem)) return {values_of_square ? 3 * low : 2 * low + high, 5 * low};
  return {std::max(5 * low, values_of_square ? 4 * low : 3 * low + high)};
}

WorkSizes geev(const Problem& problem) {
  const std::int64_t n = problem.n;
  if (complex(problem)) return {2 * n, 2 * n};
  return {problem.job == 'v' || problem.job_right == 'v' ? 4 * n : 3 * n};
}

}  // namespace blastoff::lapack::work_space
