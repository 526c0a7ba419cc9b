#include "scalapack/gathering.h"

#include <algorithm>
#include <array>
#include <optional>

#include "scalapack/consent.h"

namespace blastoff::scalapack {

GatheredProblem::GatheredProblem(const Call& call)
    : call_(call),
      size_(call.order()),
      n_(static_cast<std::size_t>(size_)),
      matrices_(!call.generalized()    ? 1
                : call.wants_vectors() ? 3
                                       : 2) {
  a_ = take(n_ * n_, call.element_bytes());
  values_ = static_cast<double*>(take(n_, sizeof(double)));
  if (call.generalized())
    call_generalized();
  else
    call_standard();
  words_.resize(lapack::argument_list(routine()).words(),
                reinterpret_cast<void*>(std::size_t{1}));  // lengths of letters
}

void* GatheredProblem::take(std::size_t elements, std::size_t element_bytes) {
  void* const memory = std::malloc(elements * element_bytes);
  complete_ = complete_ && memory != nullptr;
  memory_.emplace_back(memory);
  return memory;
}

void GatheredProblem::add(std::initializer_list<const void*> words) {
  for (const void* const word : words) words_.push_back(const_cast<void*>(word));
}

// Work space of the size that LAPACK requires. A device leaves most of it untouched.
void GatheredProblem::call_standard() {
  const int n = size_;
  const bool complex = call_.complex();
  work_length_ = complex ? 2 * n + n * n : 1 + 6 * n + 2 * n * n;
  real_work_length_ = 1 + 5 * n + 2 * n * n;
  integer_work_length_ = 3 + 5 * n;
  add({"V", call_.uplo() == 'u' ? "U" : "L", &size_, a_, &size_, values_});
  add({take(static_cast<std::size_t>(work_length_), call_.element_bytes()), &work_length_});
  if (complex) add({take(static_cast<std::size_t>(real_work_length_), sizeof(double)), &real_work_length_});
  add({take(static_cast<std::size_t>(integer_work_length_), sizeof(int)), &integer_work_length_, &info_});
}

void GatheredProblem::call_generalized() {
  b_ = take(n_ * n_, call_.element_bytes());
  z_ = call_.wants_vectors() ? take(n_ * n_, call_.element_bytes()) : a_;
  constexpr std::size_t block = 64;
  work_length_ = static_cast<int>((block + 1) * n_);
  const char range = call_.range();
  add({call_.itype(), call_.wants_vectors() ? "V" : "N",
       range == 'a'   ? "A"
       : range == 'i' ? "I"
                      : "V",
       call_.uplo() == 'u' ? "U" : "L", &size_, a_, &size_, b_, &size_});
  add({call_.low_value(), call_.high_value(), call_.low_index(), call_.high_index(), call_.tolerance(), &found_,
       values_, z_, &size_});
  add({take(static_cast<std::size_t>(work_length_), call_.element_bytes()), &work_length_});
  add({take(7 * n_, sizeof(double)), take(5 * n_, sizeof(int)), take(n_, sizeof(int)), &info_});
}

namespace {

class Exchange {
 public:
  Exchange(const Call& call, const Functions& functions, const Grid& grid)
      : call_(call), functions_(functions), grid_(grid) {}

  /// Whether all processes say yes and have the same arguments.
  bool agree(bool yes) const {
    // The minimum of all numbers and the minimum of their complements are complements of each other only if all numbers
    // are equal.
    constexpr int all_bits = 0x7fffffff;
    const int fingerprint = static_cast<int>(call_.fingerprint() & all_bits);
    std::array<int, 3> votes{yes ? 1 : 0, fingerprint, all_bits - fingerprint};
    int row = 0;
    int column = 0;
    functions_.least(grid_.context, "All", " ", 3, 1, votes.data(), 3, &row, &column, -1, -1, -1);
    return votes[0] == 1 && votes[1] == all_bits - votes[2];
  }

  /// Sends numbers from the root to all processes.
  template <std::size_t count>
  void broadcast(std::array<int, count>& numbers) const {
    const int length = count;
    if (grid_.is_root())
      functions_.send_integers(grid_.context, "All", " ", length, 1, numbers.data(), length);
    else
      functions_.receive_integers(grid_.context, "All", " ", length, 1, numbers.data(), length, 0, 0);
  }
  void broadcast(double* numbers, int length) const {
    if (length == 0) return;
    if (grid_.is_root())
      functions_.send_reals(grid_.context, "All", " ", length, 1, numbers, length);
    else
      functions_.receive_reals(grid_.context, "All", " ", length, 1, numbers, length, 0, 0);
  }

  /// Copies the distributed matrix to `whole` on the root, or back. `whole` is nullptr on other processes.
  void to_root(const Call::Matrix& matrix, void* whole) const { move(matrix, whole, call_.order(), true); }
  void from_root(const Call::Matrix& matrix, void* whole, int columns) const { move(matrix, whole, columns, false); }

 private:
  /// Moves panels, because redistribution counts bytes in 32 bits and buffers what it sends and receives.
  void move(const Call::Matrix& matrix, void* whole, int columns, bool to_root) const {
    constexpr std::size_t panel_bytes = std::size_t{64} << 20;
    const int n = call_.order();
    const std::size_t column_bytes = static_cast<std::size_t>(n) * call_.element_bytes();
    const int width = static_cast<int>(std::max<std::size_t>(1, panel_bytes / column_bytes));
    const int one = 1;
    for (int begin = 0; begin < columns; begin += width) {
      const int panel = std::min(width, columns - begin);
      // A layout of one block: the first process of the grid has all of it.
      const Descriptor layout{.context = grid_.context,
                              .rows = n,
                              .columns = panel,
                              .row_block = n,
                              .column_block = panel,
                              .leading_dimension = n};
      char* const part =
          whole == nullptr ? nullptr : static_cast<char*>(whole) + static_cast<std::size_t>(begin) * column_bytes;
      const int column = begin + 1;
      if (to_root)
        functions_.redistribute(&n, &panel, matrix.address, &one, &column, matrix.descriptor, part, &one, &one, &layout,
                                &grid_.context);
      else
        functions_.redistribute(&n, &panel, part, &one, &one, &layout, matrix.address, &one, &column, matrix.descriptor,
                                &grid_.context);
    }
  }

  const Call& call_;
  const Functions& functions_;
  const Grid& grid_;
};

/// Fills in the results of the generalized problem other than its eigenvalues and matrices.
void fill_generalized(const Call& call, const Grid& grid, int found) {
  *call.found() = found;
  if (!call.wants_vectors()) return;
  *call.vectors_found() = found;
  std::fill_n(call.failed(), found, 0);
  std::fill_n(call.clusters(), 2 * grid.size(), 0);
  std::fill_n(call.gaps(), grid.size(), -1.0);  // the value if there are no clusters
}

}  // namespace

Outcome gather(const Call& call, void* original, const Functions& functions, const Grid& grid, Root& root,
               std::chrono::duration<double> patience) {
  std::optional<GatheredProblem> problem;
  bool wanted = false;
  if (grid.is_root() && call.may_be_gathered(grid)) {
    problem.emplace(call);
    wanted = *problem && root.wants(*problem, grid);
  }
  if (!all_gather(functions, grid, wanted, patience)) return Outcome::distributed;
  if (call.query(original) != 0) return Outcome::reported;
  const Exchange exchange(call, functions, grid);
  if (!exchange.agree(call.may_be_gathered(grid) && call.has_work_space())) return Outcome::distributed;
  exchange.to_root(call.a(), problem ? problem->a() : nullptr);
  if (call.generalized()) exchange.to_root(call.b(), problem ? problem->b() : nullptr);
  std::array<int, 2> solved{0, 0};
  if (problem) solved = {root.solve(*problem) && problem->info() == 0 ? 1 : 0, problem->found()};
  exchange.broadcast(solved);
  if (solved[0] == 0) return Outcome::distributed;
  const int found = solved[1];
  if (problem) std::copy_n(problem->values(), found, call.values());
  exchange.broadcast(call.values(), found);
  if (call.wants_vectors()) exchange.from_root(call.z(), problem ? problem->vectors() : nullptr, found);
  if (call.generalized()) {
    exchange.from_root(call.b(), problem ? problem->b() : nullptr, call.order());
    fill_generalized(call, grid, found);
  }
  return Outcome::gathered;
}

}  // namespace blastoff::scalapack
