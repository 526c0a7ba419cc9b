// The two ways in which the matrices of a gathered call go from process to process, and what both need.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>

#include "platform/memory_limits.h"
#include "scalapack/consent.h"
#include "scalapack/gathering.h"

namespace blastoff::scalapack {

/// What one process knows of a call that all make.
struct Gathering {
  const Call& call;
  const Functions& functions;
  const Grid& grid;
  Root& root;
  Places places;

  std::optional<GatheredProblem> problem{};  ///< on the root, and on other members of a team

  /// On the root: whether it hopes to gather such problems, now or later.
  bool hoped(Transport transport) {
    const bool hopes = makes_problem(nullptr, 0) && root.hopes(*problem, grid, transport);
    return hopes || root.insists();
  }
  /// On the root: what it says about a call that it does or does not want.
  Word word(bool wanted) const {
    if (wanted) return {.wanted = true};
    return {.postponed = root.postpones(), .silence = root.silence(call)};
  }
  /// On the root: whether it wants to gather the problem, which lies in the segment or, without one, in memory of its
  /// own.
  bool wanted(Segment* segment) {
    std::byte* const base = segment != nullptr ? segment->data() : nullptr;
    const std::size_t taken = segment != nullptr ? segment->bytes_taken() : 0;
    return makes_problem(base, taken) && root.wants(*problem, grid, segment);
  }
  /// The program may need what is left of the machine's memory.
  bool makes_problem(std::byte* base, std::size_t taken) {
    if (!grid.is_root()) return false;
    if (places.end() > taken && places.end() - taken > platform::memory_left() / 2) return false;
    problem.emplace(call, places, base);
    return static_cast<bool>(*problem);
  }
  /// On another member of a team.
  bool makes_members_problem(std::byte* base) {
    try {
      problem.emplace(call, places, base);
    } catch (const std::bad_alloc&) {
      problem.reset();
    }
    return problem && *problem;
  }
  bool solve(Segment* segment) { return root.solve(*problem, segment) && problem->info() == 0; }

  /// The pivots of a factorization are numbers of rows, which count from the first row of the distributed matrix in
  /// ScaLAPACK, and from the first row of the sub-matrix in LAPACK.
  void pivots_to(int* whole) const {
    const Axis axis = call.pivot_axis(grid);
    const int* const own = call.integers(Argument::ipiv);
    axis.each_own_run([&](std::int64_t row, std::int64_t place, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) whole[row + i] = own[place + i] - static_cast<int>(axis.begin);
    });
  }
  void pivots_from(const int* whole) const {
    const Axis axis = call.pivot_axis(grid);
    int* const own = call.integers(Argument::ipiv);
    axis.each_own_run([&](std::int64_t row, std::int64_t place, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) own[place + i] = whole[row + i] + static_cast<int>(axis.begin);
    });
  }
  /// The factors of reflectors are elements. The processes of a column of the grid have the same.
  template <class Copy>
  void each_run_of_factors(std::byte* whole, const Copy& copy) const {
    auto* const own = static_cast<std::byte*>(call.word(Argument::tau));
    const auto at = [&](std::int64_t place) { return static_cast<std::size_t>(place) * call.element_bytes(); };
    call.reflector_axis(grid).each_own_run([&](std::int64_t column, std::int64_t place, std::int64_t count) {
      copy(own + at(place), whole + at(column), at(count));
    });
  }
  void factors_to(void* whole) const {
    each_run_of_factors(static_cast<std::byte*>(whole),
                        [](std::byte* own, std::byte* place, std::size_t bytes) { std::memcpy(place, own, bytes); });
  }
  void factors_from(void* whole) const {
    each_run_of_factors(static_cast<std::byte*>(whole),
                        [](std::byte* own, std::byte* place, std::size_t bytes) { std::memcpy(own, place, bytes); });
  }
  bool has_factors(operation::Intent intent) const {
    return call.has(Argument::tau) && call.reflector_intent() == intent;
  }
  bool has_pivots(operation::Intent intent) const { return call.has(Argument::ipiv) && call.pivot_intent() == intent; }

  /// The part of a result that is to be copied.
  DistributedMatrix result(const MatrixRule& rule, int found) const {
    DistributedMatrix matrix = call.matrix(rule);
    if (rule.matrix == Argument::z) matrix.columns = std::min(matrix.columns, found);
    return matrix;
  }

  /// Fills in the results other than matrices, pivots and eigenvalues.
  void fill_rest(int found) const {
    if (call.has(Argument::info)) *call.integers(Argument::info) = 0;
    if (call.has(Argument::scale)) fill_reals(Argument::scale, 1, 1);
    if (!call.has(Argument::found)) return;
    *call.integers(Argument::found) = found;
    if (!call.wants_vectors()) return;
    *call.integers(Argument::vectors_found) = found;
    if (!call.has(Argument::ifail)) return;
    std::fill_n(call.integers(Argument::ifail), found, 0);
    std::fill_n(call.integers(Argument::clusters), 2 * grid.size(), 0);
    fill_reals(Argument::gaps, grid.size(), -1);  // the value if there are no clusters
  }

  void fill_reals(Argument argument, int count, float value) const {
    if (call.real_bytes() == sizeof(float))
      std::fill_n(static_cast<float*>(call.word(argument)), count, value);
    else
      std::fill_n(static_cast<double*>(call.word(argument)), count, static_cast<double>(value));
  }
};

/// Tries to share a segment. All processes call it together, once, and have a segment then, or none has.
void share_segment(const Functions& functions, const Grid& grid, Meeting& meeting);

/// As gather(): through the meeting's segment, or by messages of the program's own ScaLAPACK.
Outcome gather_through_memory(Gathering& gathering, Meeting& meeting, void* original);
Outcome gather_by_messages(Gathering& gathering, Meeting& meeting, void* original);

}  // namespace blastoff::scalapack
