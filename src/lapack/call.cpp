#include "lapack/call.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "blas/integer.h"
#include "operation/front_end.h"

namespace blastoff::lapack {
namespace {

constexpr bool among(char letter, std::string_view accepted) {
  for (const char each : accepted)
    if (each == letter) return true;
  return false;
}

}  // namespace

Call::Call(Routine routine, std::span<void* const> words, std::uint8_t integer_bytes, void* value)
    : kind_(row(row(routine).kind)), arguments_(argument_list(routine)), words_(words.data()), value_(value) {
  problem_.routine = routine;
  problem_.integer_bytes = integer_bytes;
  problem_.uplo = letter(Argument::uplo);
  if (kind_.any_uplo && !among(problem_.uplo, "ul")) problem_.uplo = 'a';
  problem_.trans = letter(Argument::trans);
  problem_.diag = letter(Argument::diag);
  problem_.side = letter(Argument::side);
  problem_.job = letter(Argument::job);
  problem_.job_right = letter(Argument::job_right);
  if (kind_.family == Family::singular_values && !has(Argument::job_right)) problem_.job_right = problem_.job;
  problem_.range = letter(Argument::range);
  problem_.n = integer(Argument::n);
  problem_.m = has(Argument::m) ? integer(Argument::m) : problem_.n;
  problem_.k = has(Argument::nrhs) ? integer(Argument::nrhs) : integer(Argument::k);
  if (has(Argument::itype)) {
    const std::int64_t itype = integer(Argument::itype);
    problem_.itype = static_cast<std::uint8_t>(itype >= 1 && itype <= 3 ? itype : 0);
  }
  if (problem_.range == 'i') {
    problem_.il = integer(Argument::il);
    problem_.iu = integer(Argument::iu);
  }
  if (problem_.range == 'v') {
    problem_.vl = real(Argument::vl);
    problem_.vu = real(Argument::vu);
    problem_.ldz = integer(Argument::ldz);
  }
  problem_.abstol = real(has(Argument::rcond) ? Argument::rcond : Argument::abstol);
  problem_.lwork = integer(Argument::lwork);
  problem_.lrwork = integer(Argument::lrwork);
  problem_.liwork = integer(Argument::liwork);
  if (exchanges_rows()) find_exchanged_rows();
}

std::int64_t Call::pivot(std::int64_t index) const {
  const char* const at = static_cast<const char*>(address(Argument::ipiv)) + (index - 1) * problem_.integer_bytes;
  return blas::integer_at(at, problem_.integer_bytes);
}

// With other strides of the pivots, releases of LAPACK differ in which of them they take.
void Call::find_exchanged_rows() {
  const std::int64_t incx = integer(Argument::incx);
  problem_.il = integer(Argument::il);
  problem_.iu = integer(Argument::iu);
  problem_.m = 0;
  problem_.incx = static_cast<std::int8_t>(incx == 1 || incx == -1 ? incx : 0);
  if (problem_.incx == 0 || problem_.n <= 0 || problem_.il < 1 || problem_.iu < problem_.il) return;
  std::int64_t first = problem_.il;
  std::int64_t last = problem_.iu;
  for (std::int64_t i = problem_.il; i <= problem_.iu; ++i) {
    const std::int64_t row = pivot(i);
    first = std::min(first, row);
    last = std::max(last, row);
  }
  if (first < 1) return;
  problem_.k = first - 1;
  problem_.m = last - first + 1;
}

std::int64_t Call::integer(Argument argument) const {
  const void* const at = address(argument);
  return at != nullptr ? blas::integer_at(at, problem_.integer_bytes) : 0;
}

char Call::letter(Argument argument) const {
  const auto* const at = static_cast<const char*>(address(argument));
  return at != nullptr ? static_cast<char>(*at | 0x20) : '\0';
}

double Call::real(Argument argument) const {
  if (address(argument) == nullptr) return 0;
  if (problem_.real_bytes() == sizeof(double)) {
    double value;
    std::memcpy(&value, address(argument), sizeof value);
    return value;
  }
  float value;
  std::memcpy(&value, address(argument), sizeof value);
  return static_cast<double>(value);
}

bool Call::asks_for_work_size() const {
  return problem_.lwork == -1 || problem_.lrwork == -1 || problem_.liwork == -1;
}

bool Call::valid() const {
  return letters_valid() && sizes_valid() && (asks_for_work_size() || work_sizes_valid());
}

bool Call::letters_valid() const {
  const Problem& p = problem_;
  if (has(Argument::uplo) && !kind_.any_uplo && !among(p.uplo, "ul")) return false;
  if (has(Argument::diag) && !among(p.diag, "nu")) return false;
  if (has(Argument::side) && !among(p.side, "lr")) return false;
  if (has(Argument::range) && !among(p.range, "avi")) return false;
  if (has(Argument::itype) && p.itype == 0) return false;
  const std::string_view transposes = !kind_.adjoint_only ? "ntc" : blas::is_complex(p.scalar()) ? "nc" : "nt";
  if (has(Argument::trans) && !among(p.trans, transposes)) return false;
  if (has(Argument::job) && !among(p.job, kind_.jobs)) return false;
  if (!has(Argument::job_right)) return true;
  return among(p.job_right, kind_.jobs) && !(p.job == 'o' && p.job_right == 'o');
}

bool Call::sizes_valid() const {
  const Problem& p = problem_;
  if (p.m < 0 || p.n < 0 || p.k < 0) return false;
  // LAPACK looks at nothing here. A call for which no rows were found has nothing to exchange, or stays as it is.
  if (exchanges_rows() && p.m > 0) return integer(Argument::lda) >= p.k + p.m;
  if (kind_.sizes_accepted != nullptr && !kind_.sizes_accepted(p)) return false;
  if (p.range == 'i' && p.n > 0 && (p.il < 1 || p.il > p.n || p.iu < p.il || p.iu > p.n)) return false;
  if (p.range == 'v' && p.n > 0 && !(p.vl < p.vu)) return false;
  const auto long_enough = [&](Argument matrix, Argument leading_dimension) {
    return !has(matrix) || !has(leading_dimension) ||
           integer(leading_dimension) >= std::max<std::int64_t>(1, matrix_shape(p, matrix).rows);
  };
  return long_enough(Argument::a, Argument::lda) && long_enough(Argument::b, Argument::ldb) &&
         long_enough(Argument::z, Argument::ldz) && long_enough(Argument::right, Argument::ld_right);
}

bool Call::work_sizes_valid() const {
  const WorkSizes least = kind_.work_space(problem_);
  return (!has(Argument::lwork) || problem_.lwork >= std::max<std::int64_t>(1, least.work)) &&
         (!has(Argument::lrwork) || problem_.lrwork >= std::max<std::int64_t>(1, least.rwork)) &&
         (!has(Argument::liwork) || problem_.liwork >= std::max<std::int64_t>(1, least.iwork));
}

bool Call::trivial() const {
  const Problem& p = problem_;
  if (exchanges_rows()) return p.n == 0 || p.iu < p.il || integer(Argument::incx) == 0;
  return asks_for_work_size() || p.m == 0 || p.n == 0 || ((has(Argument::nrhs) || has(Argument::k)) && p.k == 0);
}

bool Call::supported() const {
  if (kind_.supported != nullptr && !kind_.supported(problem_)) return false;
  return kind_.family != Family::copy || !matrices_overlap();
}

bool Call::matrices_overlap() const {
  const auto span = [&](Argument matrix, Argument leading_dimension) {
    const auto begin = reinterpret_cast<std::uintptr_t>(address(matrix));
    const std::int64_t elements = (problem_.n - 1) * integer(leading_dimension) + problem_.m;
    return std::pair(begin, begin + static_cast<std::size_t>(elements) * problem_.element_bytes());
  };
  const auto [first_of_a, end_of_a] = span(Argument::a, Argument::lda);
  const auto [first_of_b, end_of_b] = span(Argument::b, Argument::ldb);
  return first_of_a < end_of_b && first_of_b < end_of_a;
}

operation::Operation Call::operation() const {
  const auto id =
      static_cast<operation::RoutineId>(lapack().first_routine() + static_cast<std::size_t>(problem_.routine));
  operation::Operation result(lapack(), id, problem_);
  result.work = work(problem_);
  result.may_fail = problem_.may_fail();
  result.has_several_results = problem_.has_several_results();
  const std::size_t rows_above = exchanges_rows() ? static_cast<std::size_t>(problem_.k) : 0;
  const std::size_t first_pivot = exchanges_rows() ? static_cast<std::size_t>(problem_.il - 1) : 0;
  const auto add_matrix = [&](Argument matrix, Argument leading_dimension) {
    if (!arguments_.has(matrix)) return;
    const MatrixShape shape = matrix_shape(problem_, matrix);
    result.add({.address = static_cast<char*>(address(matrix)) + rows_above * problem_.element_bytes(),
                .rows = shape.columns == 0 ? 0 : shape.rows,
                .columns = shape.columns,
                .leading_dimension =
                    std::max<std::int64_t>(1, has(leading_dimension) ? integer(leading_dimension) : shape.rows),
                .element_size = problem_.element_bytes(),
                .part = shape.part,
                .intent = shape.intent});
  };
  add_matrix(Argument::a, Argument::lda);
  add_matrix(Argument::b, Argument::ldb);
  add_matrix(Argument::z, Argument::ldz);
  add_matrix(Argument::right, Argument::ld_right);
  for (const Argument argument : arguments_) {
    if (!is_vector(argument)) continue;
    const VectorShape shape = vector_shape(problem_, argument);
    const std::size_t before = argument == Argument::ipiv ? first_pivot * shape.element_bytes : 0;
    result.add(operation::HostVector{.address = static_cast<char*>(address(argument)) + before,
                                     .bytes = shape.element_bytes * static_cast<std::size_t>(shape.count),
                                     .intent = shape.intent});
  }
  if (has_eigenvectors_afterwards(problem_)) result.add(operation::HostVector{.address = address(Argument::z)});
  if (kind_.returns_value) result.add(operation::HostVector{.address = value_, .bytes = problem_.real_bytes()});
  return result;
}

}  // namespace blastoff::lapack
