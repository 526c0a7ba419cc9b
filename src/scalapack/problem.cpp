#include "scalapack/problem.h"

#include <algorithm>

namespace blastoff::scalapack {
namespace {

bool vectors_lie_in_a(Kind kind) {
  return kind == Kind::syev || kind == Kind::syevd;
}

}  // namespace

Places::Places(const Call& call) {
  const std::span<const MatrixRule> rules = call.rules();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const DistributedMatrix matrix = call.matrix(rules[i]);
    leading_dimensions_[i] = static_cast<std::size_t>(matrix.rows);
    if (i > 0 && vectors_lie_in_a(call.kind()))
      begins_[i] = begins_[0];
    else
      begins_[i] = take(leading_dimensions_[i] * static_cast<std::size_t>(matrix.columns) * matrix.element_bytes);
  }
  const auto n = static_cast<std::size_t>(call.integer(Argument::n));
  if (call.has(Argument::ipiv)) pivots_ = take(n * sizeof(int));
  if (call.has(Argument::w)) values_ = take(n * call.real_bytes());
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
  if (is_eigensolver(call.kind())) size_work_space();
  if (routine().is_lapack())
    call_lapack();
  else
    call_blas();
}

std::size_t GatheredProblem::matrix_bytes() const {
  double most = 0;
  for (const MatrixRule& rule : call_.rules()) {
    const DistributedMatrix matrix = call_.matrix(rule);
    most = std::max(most, static_cast<double>(matrix.rows) * matrix.columns);
  }
  return static_cast<std::size_t>(most) * call_.element_bytes();
}

int GatheredProblem::found() const {
  return call_.has(Argument::found) ? found_ : call_.integer(Argument::n);
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
  const int n = call_.integer(Argument::n);
  if (call_.kind() == Kind::sygvx) {
    constexpr int block = 64;
    work_length_ = (block + 8) * n;
    real_work_length_ = 7 * n;
    integer_work_length_ = 5 * n;
  } else {
    work_length_ = call_.complex() ? 2 * n + n * n : 1 + 6 * n + 2 * n * n;
    real_work_length_ = 1 + 5 * n + 2 * n * n;
    integer_work_length_ = 3 + 5 * n;
  }
}

void GatheredProblem::call_lapack() {
  const lapack::ArgumentList& arguments = lapack::argument_list(routine().of_lapack());
  for (const lapack::Argument argument : arguments) add(lapack_word(argument));
  words_.resize(arguments.words(), reinterpret_cast<void*>(std::size_t{1}));  // lengths of letters
}

const void* GatheredProblem::lapack_word(lapack::Argument argument) {
  using Of = lapack::Argument;
  const auto length = [](int elements) { return static_cast<std::size_t>(elements); };
  const auto n = length(call_.integer(Argument::n));
  switch (argument) {
    case Of::uplo: return call_.word(Argument::uplo);
    case Of::diag: return call_.word(Argument::diag);
    case Of::trans: return call_.word(Argument::trans);
    case Of::job: return call_.word(Argument::job);
    case Of::range: return call_.word(Argument::range);
    case Of::itype: return call_.word(Argument::itype);
    case Of::m: return call_.word(Argument::m);
    case Of::n: return call_.word(Argument::n);
    case Of::nrhs: return call_.word(Argument::nrhs);
    case Of::il: return call_.word(Argument::il);
    case Of::iu: return call_.word(Argument::iu);
    case Of::vl: return call_.word(Argument::vl);
    case Of::vu: return call_.word(Argument::vu);
    case Of::abstol: return call_.word(Argument::abstol);
    case Of::a: return places_.matrix(0, base_).address;
    case Of::b: return places_.matrix(1, base_).address;
    case Of::z: return places_.matrix(2, base_).address;
    case Of::lda: return &leading_dimensions_[0];
    case Of::ldb: return &leading_dimensions_[1];
    case Of::ldz: return &leading_dimensions_[2];
    case Of::ipiv: return places_.pivots(base_);
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
    default: return nullptr;  // no routine of the table has it
  }
}

}  // namespace blastoff::scalapack
