#include "scalapack/call.h"

#include <algorithm>
#include <cstring>
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
  void add(const void* memory, std::size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(memory);
    for (std::size_t i = 0; i < size; ++i) sum_ = (sum_ ^ bytes[i]) * 16777619U;
  }
  template <class Value>
  void add(const Value& value) {
    add(&value, sizeof value);
  }
  std::uint32_t sum() const { return sum_; }

 private:
  std::uint32_t sum_ = 2166136261U;
};

/// Adds what all processes know of a matrix. `words`: of the matrix.
void add_matrix(Fingerprint& sum, void* const* words) {
  for (const std::size_t place : {1, 2}) sum.add(*static_cast<const int*>(words[place]));
  const LongDescriptor of = layout_of(words[3]);
  for (const int each : {of.rows, of.columns, of.first_row_block, of.first_column_block, of.row_block, of.column_block,
                         of.first_row, of.first_column})
    sum.add(each);
}

/// csyrk and zsyrk do not accept C; cherk and zherk do not accept T.
std::string_view accepted_transposes(const RoutineRow& row) {
  if (row.local.is_lapack() || !blas::is_complex(row.scalar)) return "ntc";
  switch (blas::row(row.local.of_blas()).kind) {
    case blas::Kind::syrk:
    case blas::Kind::syr2k: return "nt";
    case blas::Kind::herk:
    case blas::Kind::her2k: return "nc";
    default: return "ntc";
  }
}

}  // namespace

// Passes as many words as the longest routine has. A callee reads only its own words, and the caller clears the stack,
// so more words do no harm.
void invoke(void* function, void* const* words, std::size_t count) {
  Words all{};
  std::copy_n(words, count, all.begin());
  invoke_all(function, all, std::make_index_sequence<max_words>());
}

std::size_t Call::coefficient_bytes(Argument argument) const {
  if (local().is_lapack()) return real_bytes();
  const blas::Kind of_blas = blas::row(local().of_blas()).kind;
  const bool real = of_blas == blas::Kind::herk || (of_blas == blas::Kind::her2k && argument == Argument::beta);
  return real ? real_bytes() : element_bytes();
}

bool Call::zero(Argument coefficient) const {
  constexpr std::array<double, 2> zeros{};
  const bool is_float = real_bytes() == sizeof(float);
  const void* const value = word(coefficient);
  for (std::size_t i = 0; i < coefficient_bytes(coefficient) / real_bytes(); ++i)
    if (is_float ? static_cast<const float*>(value)[i] != 0 : static_cast<const double*>(value)[i] != zeros[i])
      return false;
  return true;
}

int Call::extent(Extent extent) const {
  switch (extent) {
    case Extent::m: return integer(Argument::m);
    case Extent::n: return integer(Argument::n);
    case Extent::k: return integer(Argument::k);
    case Extent::nrhs: return integer(Argument::nrhs);
    case Extent::longest: return std::max(integer(Argument::m), integer(Argument::n));
    case Extent::shortest: return std::min(integer(Argument::m), integer(Argument::n));
    case Extent::order: return integer(letter(Argument::side) == 'l' ? Argument::m : Argument::n);
  }
  return 0;
}

DistributedMatrix Call::matrix(const MatrixRule& rule) const {
  if (!uses(rule.matrix)) return {.element_bytes = element_bytes(), .intent = rule.intent};
  void* const* const words = words_ + arguments().position(rule.matrix);
  DistributedMatrix matrix{.address = static_cast<std::byte*>(words[0]),
                           .layout = layout_of(words[3]),
                           .row = place(rule.matrix).row - 1,
                           .column = place(rule.matrix).column - 1,
                           .rows = extent(rule.rows),
                           .columns = extent(rule.columns),
                           .element_bytes = element_bytes(),
                           .intent = rule.intent};
  if (has(rule.transposed) && rule.transposed != Argument::info && letter(rule.transposed) != 'n')
    std::swap(matrix.rows, matrix.columns);
  if (rule.triangle) matrix.part = letter(Argument::uplo) == 'u' ? operation::Part::upper : operation::Part::lower;
  if (rule.matrix == Argument::c && has(Argument::beta) && zero(Argument::beta))
    matrix.intent = operation::Intent::write;
  return matrix;
}

Axis Call::pivot_axis(const Grid& grid) const {
  Axis axis = matrix(rules()[0]).row_axis(grid);
  axis.count = std::min<std::int64_t>(axis.count, integer(Argument::n));
  return axis;
}

Axis Call::reflector_axis(const Grid& grid) const {
  Axis axis = matrix(rules()[0]).column_axis(grid);
  axis.count = kind() == Kind::geqrf ? extent(Extent::shortest) : integer(Argument::k);
  return axis;
}

Call::WorkLengths Call::work_lengths() const {
  WorkLengths lengths{};
  for (const Argument length : {Argument::lwork, Argument::lrwork, Argument::liwork})
    if (has(length)) lengths.arguments[lengths.count++] = length;
  return lengths;
}

bool Call::asks_for_work_size() const {
  const WorkLengths lengths = work_lengths();
  return std::any_of(lengths.arguments.begin(), lengths.arguments.begin() + lengths.count,
                     [&](Argument length) { return integer(length) == -1; });
}

int Call::query(void* original) const {
  Words words{};
  std::copy_n(words_, row(routine_).words, words.begin());
  int unknown = -1;
  const WorkLengths lengths = work_lengths();
  for (std::size_t i = 0; i < lengths.count; ++i) words[arguments().position(lengths.arguments[i])] = &unknown;
  *integers(Argument::info) = 0;
  invoke(original, words.data(), row(routine_).words);
  return *integers(Argument::info);
}

/// The size that a query has left in the first element of a work space.
double Call::work_space(Argument work) const {
  if (work == Argument::iwork) return *integers(work);
  return real_bytes() == sizeof(float) ? static_cast<double>(*static_cast<const float*>(word(work)))
                                       : *static_cast<const double*>(word(work));
}

bool Call::has_work_space() const {
  const WorkLengths lengths = work_lengths();
  for (std::size_t i = 0; i < lengths.count; ++i) {
    const Argument length = lengths.arguments[i];
    const Argument work = length == Argument::lwork    ? Argument::work
                          : length == Argument::lrwork ? Argument::rwork
                                                       : Argument::iwork;
    if (integer(length) < work_space(work)) return false;
  }
  return true;
}

// Lengths of work space may differ. Limits that the range does not name may be anything.
bool Call::is_common(Argument argument) const {
  switch (argument) {
    case Argument::lwork:
    case Argument::lrwork:
    case Argument::liwork: return false;
    case Argument::il:
    case Argument::iu: return letter(Argument::range) == 'i';
    case Argument::vl:
    case Argument::vu: return letter(Argument::range) == 'v';
    default: return true;
  }
}

double Call::multiplications() const {
  constexpr double of_an_eigenproblem = 5;  // and more: n^3 times this
  const auto size = [&](Argument argument) { return static_cast<double>(integer(argument)); };
  switch (kind()) {
    case Kind::gemm: return size(Argument::m) * size(Argument::n) * size(Argument::k);
    case Kind::symm:
    case Kind::trmm: {
      const double order = extent(Extent::order);
      return size(Argument::m) * size(Argument::n) * order * (kind() == Kind::trmm ? 0.5 : 1);
    }
    case Kind::syrk: return 0.5 * size(Argument::n) * size(Argument::n) * size(Argument::k);
    case Kind::syr2k: return size(Argument::n) * size(Argument::n) * size(Argument::k);
    case Kind::getrf: {
      const double least = std::min(size(Argument::m), size(Argument::n));
      return 0.5 * size(Argument::m) * size(Argument::n) * least;
    }
    case Kind::potrs:
    case Kind::getrs: return size(Argument::n) * size(Argument::n) * size(Argument::nrhs);
    case Kind::posv:
    case Kind::gesv: return size(Argument::n) * size(Argument::n) * (size(Argument::n) / 4 + size(Argument::nrhs));
    case Kind::potrf:
    case Kind::trtri: return size(Argument::n) * size(Argument::n) * size(Argument::n) / 4;
    case Kind::geqrf: return size(Argument::m) * size(Argument::n) * extent(Extent::shortest);
    case Kind::orgqr: return size(Argument::m) * size(Argument::n) * size(Argument::k);
    case Kind::ormqr: return 2 * size(Argument::m) * size(Argument::n) * size(Argument::k);
    case Kind::gels:
      return size(Argument::m) * size(Argument::n) * (extent(Extent::shortest) + 2 * size(Argument::nrhs));
    case Kind::gesvd: return of_an_eigenproblem * size(Argument::m) * size(Argument::n) * extent(Extent::shortest);
    case Kind::sygst:
    case Kind::syngst: return size(Argument::n) * size(Argument::n) * size(Argument::n) / 2;
    case Kind::syev:
    case Kind::syevd:
    case Kind::syevx:
    case Kind::syevr:
    case Kind::sygvx: return of_an_eigenproblem * size(Argument::n) * size(Argument::n) * size(Argument::n);
  }
  return 0;
}

double Call::moved_bytes() const {
  double bytes = 0;
  for (const MatrixRule& rule : rules()) {
    const DistributedMatrix moved = matrix(rule);
    bytes += moved.bytes() * ((operation::reads(moved.intent) ? 1 : 0) + (operation::writes(moved.intent) ? 1 : 0));
  }
  return bytes;
}

bool Call::is_worth_asking() const {
  const double multiplications = this->multiplications();
  return multiplications >= min_multiplications && 2 * multiplications >= min_intensity * moved_bytes();
}

bool Call::letters_accepted() const {
  const auto accepted = [&](Argument argument, std::string_view letters) {
    return !has(argument) || among(letter(argument), letters);
  };
  const std::string_view jobs = kind() == Kind::syevd ? "v" : "nv";
  return accepted(Argument::side, "lr") && accepted(Argument::uplo, "ul") && accepted(Argument::diag, "un") &&
         accepted(Argument::trans, accepted_transposes(row(routine_))) && accepted(Argument::trans_b, "ntc") &&
         accepted(Argument::job, jobs) && accepted(Argument::job_right, "nv") && accepted(Argument::range, "aiv");
}

/// What the original asks of the blocks, or more. The PBLAS ask for nothing. Routines with work space check the blocks
/// themselves when they are asked for its size; but eigensolvers may compute wrong results in some layouts.
bool Call::blocks_match(const Grid& grid) const {
  if (is_pblas(kind())) return true;
  if (has_work() && !is_eigensolver(kind())) {
    return std::ranges::all_of(rules(), [&](const MatrixRule& rule) {
      return !uses(rule.matrix) || matrix(rule).layout.type == Descriptor::dense;
    });
  }
  const DistributedMatrix first = matrix(rules()[0]);
  const LongDescriptor& layout = first.layout;
  for (const MatrixRule& rule : rules()) {
    if (!uses(rule.matrix)) continue;
    const DistributedMatrix other = matrix(rule);
    const LongDescriptor& of = other.layout;
    if (of.type != Descriptor::dense || of.row_block != layout.row_block || other.row % of.row_block != 0) return false;
    if (other.row_axis(grid).process_of_begin() != first.row_axis(grid).process_of_begin()) return false;
    if (rule.columns != Extent::nrhs) {  // right-hand sides have columns of any layout
      if (of.column_block != of.row_block || other.column % of.column_block != 0) return false;
      if (other.column_axis(grid).process_of_begin() != first.column_axis(grid).process_of_begin()) return false;
    }
    if (!is_eigensolver(kind())) continue;
    if (other.row != 0 || other.column != 0 || of.rows != other.rows || of.columns != other.columns) return false;
    if (of.first_column != layout.first_column) return false;
  }
  return true;
}

bool Call::may_be_gathered(const Grid& grid) const {
  if (!letters_accepted()) return false;
  if (has(Argument::itype) && (integer(Argument::itype) < 1 || integer(Argument::itype) > 3)) return false;
  if (is_eigensolver(kind()) && integer(Argument::n) > greatest_eigenproblem) return false;
  for (const MatrixRule& rule : rules())
    if (uses(rule.matrix) && !matrix(rule).lies_in(grid)) return false;
  return blocks_match(grid);
}

bool Call::is_right_here(const Grid& grid) const {
  for (const MatrixRule& rule : rules())
    if (uses(rule.matrix) && !matrix(rule).has_room(grid)) return false;
  return true;
}

std::uint32_t Call::fingerprint(bool with_numbers) const {
  Fingerprint sum;
  sum.add(routine_);
  for (const Argument argument : arguments()) {
    if (is_letter(argument)) sum.add(letter(argument));
    if (is_matrix(argument) && uses(argument)) add_matrix(sum, words_ + arguments().position(argument));
    if (is_integer(argument) && is_common(argument)) sum.add(integer(argument));
    if (is_number(argument) && is_common(argument) && with_numbers)
      sum.add(word(argument), coefficient_bytes(argument));
  }
  return sum.sum();
}

}  // namespace blastoff::scalapack
