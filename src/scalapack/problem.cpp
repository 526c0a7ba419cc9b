#include "scalapack/problem.h"

#include <algorithm>
#include <limits>

#include "lapack/kinds.h"

namespace blastoff::scalapack {

Places::Places(const Call& call) {
  const std::span<const MatrixRule> rules = call.rules();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const DistributedMatrix matrix = call.matrix(rules[i]);
    leading_dimensions_[i] = static_cast<std::size_t>(std::max(matrix.rows, 1));
    if (i > 0 && call.vectors_lie_in_a()) {
      begins_.matrices[i] = begins_.matrices[0];
      continue;
    }
    begins_.matrices[i] =
        take(leading_dimensions_[i] * static_cast<std::size_t>(matrix.columns) * matrix.element_bytes);
    matrix_bytes_[i] = bytes_ - begins_.matrices[i];
  }
  begins_.vectors = bytes_;
  const auto n = static_cast<std::size_t>(call.integer(Argument::n));
  const auto take_vector = [&](std::size_t bytes) { return take(bytes) - begins_.vectors; };
  if (call.has(Argument::tau)) {
    const int most = std::max(call.integer(Argument::m), call.integer(Argument::n));
    factors_ = take_vector(static_cast<std::size_t>(most) * call.element_bytes());
  }
  if (call.has(Argument::ipiv)) pivots_ = take_vector(n * sizeof(int));
  if (call.has(Argument::w)) values_ = take_vector(n * call.real_bytes());
  vector_bytes_ = bytes_ - begins_.vectors;
}

std::size_t Places::end() const {
  std::size_t end = begins_.vectors + vector_bytes_;
  for (std::size_t i = 0; i < matrix_bytes_.size(); ++i) end = std::max(end, begins_.matrices[i] + matrix_bytes_[i]);
  return end;
}

std::size_t Places::index_of(const Call& call, Argument matrix) {
  const std::span<const MatrixRule> rules = call.rules();
  const auto found = std::ranges::find(rules, matrix, &MatrixRule::matrix);
  return found == rules.end() ? 0 : static_cast<std::size_t>(found - rules.begin());
}

/// Begins on a page, so that no two matrices share one.
std::size_t Places::take(std::size_t bytes) {
  constexpr std::size_t page_bytes = 4096;
  const std::size_t begin = bytes_;
  bytes_ += (bytes + page_bytes - 1) / page_bytes * page_bytes;
  return begin;
}

GatheredProblem::GatheredProblem(const Call& call, const Places& places, std::byte* base)
    : call_(call), places_(places), base_(base) {
  if (base_ == nullptr) base_ = static_cast<std::byte*>(take(places.bytes(), 1));
  if (!complete_) return;
  for (std::size_t i = 0; i < call.rules().size(); ++i)
    leading_dimensions_[i] = static_cast<int>(places_.matrix(i, base_).leading_dimension);
  if (has_work_space()) size_work_space();
  if (routine().is_lapack())
    call_lapack();
  else
    call_blas();
}

/// The local routine may need none where the distributed one does.
bool GatheredProblem::has_work_space() const {
  return routine().is_lapack() && lapack::argument_list(routine().of_lapack()).has(lapack::Argument::lwork);
}

std::size_t GatheredProblem::device_bytes() const {
  const bool many_vectors = is_eigensolver(call_.kind()) || call_.kind() == Kind::gesvd;
  return bytes() + (many_vectors ? 3 * matrix_bytes() : matrix_bytes() / 4);
}

/// Bytes of the largest matrix.
std::size_t GatheredProblem::matrix_bytes() const {
  double most = 0;
  for (const MatrixRule& rule : call_.rules()) {
    const DistributedMatrix matrix = call_.matrix(rule);
    most = std::max(most, static_cast<double>(matrix.rows) * matrix.columns);
  }
  return static_cast<std::size_t>(most) * call_.element_bytes();
}

int GatheredProblem::found() const {
  return call_.has(Argument::found) ? found_ : call_.max_values();
}

void* GatheredProblem::take(std::size_t elements, std::size_t element_bytes) {
  void* const memory = std::malloc(std::max<std::size_t>(1, elements * element_bytes));
  complete_ = complete_ && memory != nullptr;
  memory_.emplace_back(memory);
  return memory;
}

/// The routine of the BLAS has the same arguments in the same order.
void GatheredProblem::call_blas() {
  std::size_t matrices = 0;
  for (const Argument argument : call_.arguments()) {
    if (!is_matrix(argument)) {
      add(call_.word(argument));
      continue;
    }
    add(places_.matrix(matrices, base_).address);
    add(&leading_dimensions_[matrices++]);
  }
  words_.resize(words_.size() + call_.arguments().letters(), reinterpret_cast<void*>(std::size_t{1}));
}

/// Work space of the size that LAPACK requires. A device leaves most of it untouched.
void GatheredProblem::size_work_space() {
  constexpr int block = 64;
  const int n = call_.integer(Argument::n);
  if (is_eigensolver(call_.kind()) && call_.has(Argument::range)) {
    work_length_ = (block + 8) * n;
    real_work_length_ = 24 * n;
    integer_work_length_ = 10 * n;
  } else if (is_eigensolver(call_.kind())) {
    work_length_ = call_.complex() ? 2 * n + n * n : 1 + 6 * n + 2 * n * n;
    real_work_length_ = 1 + 5 * n + 2 * n * n;
    integer_work_length_ = 3 + 5 * n;
  } else {
    const int right_hand_sides = call_.has(Argument::nrhs) ? call_.integer(Argument::nrhs) : 0;
    const std::int64_t lines = std::int64_t{call_.integer(Argument::m)} + n + right_hand_sides + block;
    constexpr std::int64_t max_length = std::numeric_limits<int>::max();
    work_length_ = static_cast<int>(std::min((block + 8) * lines, max_length));
    real_work_length_ = static_cast<int>(std::min(5 * std::int64_t{n}, max_length));
  }
}

void GatheredProblem::call_lapack() {
  const lapack::ArgumentList& arguments = lapack::argument_list(routine().of_lapack());
  for (const lapack::Argument argument : arguments) add(lapack_word(argument));
  words_.resize(arguments.words(), reinterpret_cast<void*>(std::size_t{1}));  // lengths of letters
}

/// nullptr: not a matrix, nor its leading dimension.
const void* GatheredProblem::matrix_word(lapack::Argument argument) const {
  using Of = lapack::Argument;
  const auto address = [&](Argument name) { return places_.matrix(Places::index_of(call_, name), base_).address; };
  const auto length = [&](Argument name) { return &leading_dimensions_[Places::index_of(call_, name)]; };
  const Argument second = call_.has(Argument::c) ? Argument::c : Argument::b;
  const Argument vectors = call_.has(Argument::u) ? Argument::u : Argument::z;
  switch (argument) {
    case Of::a: return address(Argument::a);
    case Of::b: return address(second);
    case Of::z: return address(vectors);
    case Of::right: return address(Argument::vt);
    case Of::lda: return length(Argument::a);
    case Of::ldb: return length(second);
    case Of::ldz: return length(vectors);
    case Of::ld_right: return length(Argument::vt);
    default: return nullptr;
  }
}

/// nullptr: not a letter. What ScaLAPACK calls V, a few of the vectors, is S in LAPACK's singular value decomposition.
const void* GatheredProblem::letter_word(lapack::Argument argument) const {
  using Of = lapack::Argument;
  const auto job = [&](Argument name, Argument matrix) -> const void* {
    if (call_.kind() != Kind::gesvd) return call_.word(name);
    return call_.wants_vectors(matrix) ? "S" : "N";
  };
  switch (argument) {
    case Of::uplo: return call_.word(Argument::uplo);
    case Of::diag: return call_.word(Argument::diag);
    case Of::side: return call_.word(Argument::side);
    case Of::trans: return call_.word(Argument::trans);
    case Of::range: return call_.word(Argument::range);
    case Of::job: return job(Argument::job, Argument::u);
    case Of::job_right: return job(Argument::job_right, Argument::vt);
    default: return nullptr;
  }
}

const void* GatheredProblem::lapack_word(lapack::Argument argument) {
  using Of = lapack::Argument;
  static constexpr double no_tolerance = 0;  // also as a float
  if (lapack::is_letter(argument)) return letter_word(argument);
  if (const void* const word = matrix_word(argument)) return word;
  const auto length = [](int elements) { return static_cast<std::size_t>(elements); };
  const auto n = length(call_.integer(Argument::n));
  switch (argument) {
    case Of::itype: return call_.word(Argument::itype);
    case Of::m: return call_.word(Argument::m);
    case Of::n: return call_.word(Argument::n);
    case Of::k: return call_.word(Argument::k);
    case Of::nrhs: return call_.word(Argument::nrhs);
    case Of::il: return call_.word(Argument::il);
    case Of::iu: return call_.word(Argument::iu);
    case Of::vl: return call_.word(Argument::vl);
    case Of::vu: return call_.word(Argument::vu);
    case Of::abstol: return call_.has(Argument::abstol) ? call_.word(Argument::abstol) : &no_tolerance;
    case Of::ipiv: return places_.pivots(base_);
    case Of::tau: return places_.factors(base_);
    case Of::w: return places_.values(base_);
    case Of::found: return &found_;
    case Of::info: return &info_;
    case Of::lwork: return &work_length_;
    case Of::lrwork: return &real_work_length_;
    case Of::liwork: return &integer_work_length_;
    case Of::work: return take(length(work_length_), call_.element_bytes());
    case Of::rwork: return take(length(real_work_length_), call_.real_bytes());
    case Of::iwork: return take(length(integer_work_length_), sizeof(int));
    case Of::ifail: return take(n, sizeof(int));
    case Of::isuppz: return take(2 * n, sizeof(int));
    default: return nullptr;  // no routine of the table has it
  }
}

}  // namespace blastoff::scalapack
