#include "scalapack/call.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace blastoff::scalapack {
namespace {

constexpr std::size_t max_words = 39;
using Words = std::array<void*, max_words>;

template <std::size_t... positions>
void invoke_all(void* function, const Words& words, std::index_sequence<positions...>) {
  reinterpret_cast<void (*)(decltype((void)positions, static_cast<void*>(nullptr))...)>(function)(words[positions]...);
}

bool among(char letter, std::string_view accepted) {
  return accepted.find(letter) != std::string_view::npos;
}

/// FNV-1a.
class Fingerprint {
 public:
  template <class Value>
  void add(const Value& value) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&value);
    for (std::size_t i = 0; i < sizeof value; ++i) sum_ = (sum_ ^ bytes[i]) * 16777619U;
  }
  std::uint32_t sum() const { return sum_; }

 private:
  std::uint32_t sum_ = 2166136261U;
};

}  // namespace

// Passes as many words as the longest routine has. A callee reads only its own words, and the caller clears the stack,
// so more words do no harm.
void invoke(void* function, void* const* words, std::size_t count) {
  Words all{};
  std::copy_n(words, count, all.begin());
  invoke_all(function, all, std::make_index_sequence<max_words>());
}

std::int64_t own_share(int count, int block, int process, int first, int processes) {
  const int distance = (process - first + processes) % processes;
  const int blocks = count / block;
  const int extra = blocks % processes;
  const std::int64_t share = std::int64_t{blocks / processes} * block;
  if (distance < extra) return share + block;
  return distance == extra ? share + count % block : share;
}

Call::WorkLengths Call::work_lengths() const {
  if (generalized()) return {{27, 29, 31}, 3};
  if (complex()) return {{13, 15, 17}, 3};
  return {{13, 15, 0}, 2};
}

bool Call::asks_for_work_size() const {
  const WorkLengths lengths = work_lengths();
  return std::any_of(lengths.positions.begin(), lengths.positions.begin() + lengths.count,
                     [&](std::uint8_t position) { return integer(position) == -1; });
}

int Call::query(void* original) const {
  Words words{};
  std::copy_n(words_, row(routine_).words, words.begin());
  int unknown = -1;
  const WorkLengths lengths = work_lengths();
  for (std::size_t i = 0; i < lengths.count; ++i) words[lengths.positions[i]] = &unknown;
  *info() = 0;
  invoke(original, words.data(), row(routine_).words);
  return *info();
}

bool Call::has_work_space() const {
  const WorkLengths lengths = work_lengths();
  for (std::size_t i = 0; i < lengths.count; ++i) {
    const void* const work = words_[lengths.positions[i] - 1];
    const bool integers = i + 1 == lengths.count;
    const double wanted = integers ? *static_cast<const int*>(work) : *static_cast<const double*>(work);
    if (integer(lengths.positions[i]) < wanted) return false;
  }
  return true;
}

bool Call::whole(std::size_t position, const Grid& grid) const {
  const Descriptor& of = *matrix(position).descriptor;
  const Descriptor& first = *a().descriptor;
  const int n = order();
  if (of.type != 1 || of.context != grid.context || integer(position + 1) != 1 || integer(position + 2) != 1)
    return false;
  if (of.rows != n || of.columns != n || of.row_block < 1 || of.row_block != of.column_block) return false;
  if (of.first_row < 0 || of.first_row >= grid.rows || of.first_column < 0 || of.first_column >= grid.columns)
    return false;
  if (of.row_block != first.row_block || of.first_row != first.first_row || of.first_column != first.first_column)
    return false;
  const std::int64_t rows = own_share(n, of.row_block, grid.row, of.first_row, grid.rows);
  const std::int64_t columns = own_share(n, of.row_block, grid.column, of.first_column, grid.columns);
  return of.leading_dimension >= std::max<std::int64_t>(1, rows) &&
         of.leading_dimension * columns < std::numeric_limits<int>::max();
}

bool Call::may_be_gathered(const Grid& grid) const {
  if (order() < min_order || order() > greatest_order || !among(uplo(), "ul")) return false;
  if (!among(job(), generalized() ? "nv" : "v") || !among(range(), "aiv")) return false;
  if (!whole(generalized() ? 5 : 3, grid) || !whole(generalized() ? 22 : 8, grid)) return false;
  return !generalized() || whole(9, grid);
}

std::uint32_t Call::fingerprint() const {
  Fingerprint sum;
  sum.add(routine_);
  sum.add(order());
  for (const char letter : {job(), range(), uplo()}) sum.add(letter);
  const Descriptor& layout = *a().descriptor;
  for (const int number : {layout.row_block, layout.first_row, layout.first_column}) sum.add(number);
  if (!generalized()) return sum.sum();
  sum.add(*static_cast<const int*>(itype()));
  if (range() == 'v') {
    sum.add(*static_cast<const double*>(low_value()));
    sum.add(*static_cast<const double*>(high_value()));
  }
  if (range() == 'i') {
    sum.add(*static_cast<const int*>(low_index()));
    sum.add(*static_cast<const int*>(high_index()));
  }
  sum.add(*static_cast<const double*>(tolerance()));
  return sum.sum();
}

}  // namespace blastoff::scalapack
