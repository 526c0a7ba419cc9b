#include "calibration/trial.h"

#include <array>

#include "blas/front_end.h"
#include "blas/shape.h"
#include "fft/execution.h"
#include "lapack/call.h"

namespace blastoff::calibration {
namespace {

using decide::Family;
using decide::Precision;
using lapack::Argument;

blas::Scalar scalar_of(Precision precision) {
  switch (precision) {
    case Precision::s: return blas::Scalar::s;
    case Precision::d: return blas::Scalar::d;
    case Precision::c: return blas::Scalar::c;
    case Precision::z: return blas::Scalar::z;
  }
  return blas::Scalar::d;
}

std::optional<blas::Kind> blas_kind(Family family) {
  switch (family) {
    case Family::gemm: return blas::Kind::gemm;
    case Family::syrk: return blas::Kind::syrk;
    case Family::trsm: return blas::Kind::trsm;
    case Family::gemv: return blas::Kind::gemv;
    default: return std::nullopt;
  }
}

std::optional<lapack::Routine> lapack_routine(Family family, blas::Scalar scalar) {
  const auto kind = [&]() -> std::optional<lapack::Kind> {
    switch (family) {
      case Family::getrf: return lapack::Kind::getrf;
      case Family::potrf: return lapack::Kind::potrf;
      case Family::geqrf: return lapack::Kind::geqrf;
      case Family::syevd: return lapack::Kind::syevd;
      case Family::gesdd: return lapack::Kind::gesdd;
      default: return std::nullopt;
    }
  }();
  for (std::size_t i = 0; kind && i < lapack::routine_count; ++i)
    if (lapack::routine_table[i].kind == *kind && lapack::routine_table[i].scalar == scalar)
      return static_cast<lapack::Routine>(i);
  return std::nullopt;
}

bool single(Precision precision) {
  return precision == Precision::s || precision == Precision::c;
}

/// Fills memory with numbers in [-1, 1), the same ones in each run.
template <class Real>
void fill(Real* numbers, std::size_t count) {
  std::uint32_t state = 2463534242U;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    numbers[i] = static_cast<Real>(static_cast<std::int32_t>(state)) * static_cast<Real>(0x1p-31);
  }
}

}  // namespace

std::optional<Trial> Trial::make(decide::RateKey key, std::int64_t size) {
  Trial trial(key);
  const bool made = key.family == Family::fft ? trial.make_transform(size)
                    : blas_kind(key.family)   ? trial.make_blas(size)
                                              : trial.make_lapack(size);
  return made ? std::optional(std::move(trial)) : std::nullopt;
}

void* Trial::bytes(std::size_t count) {
  memory_.push_back(std::make_unique_for_overwrite<double[]>(count / sizeof(double) + 1));
  return memory_.back().get();
}

/// Returns memory with `count` numbers of the trial's precision.
void* Trial::numbers(std::size_t count) {
  void* const memory = bytes(count * blas::element_size(scalar_of(key_.precision)));
  const std::size_t reals = blas::is_complex(scalar_of(key_.precision)) ? 2 * count : count;
  if (single(key_.precision))
    fill(static_cast<float*>(memory), reals);
  else
    fill(static_cast<double*>(memory), reals);
  return memory;
}

/// Makes a matrix definite, so that it can be factorized and solves with it stay bounded.
void Trial::raise_diagonal(void* matrix, std::int64_t size) const {
  const auto order = static_cast<std::size_t>(size);
  const std::size_t parts = blas::is_complex(scalar_of(key_.precision)) ? 2 : 1;
  for (std::size_t i = 0; i < order; ++i) {
    const std::size_t place = parts * i * (order + 1);
    if (single(key_.precision))
      static_cast<float*>(matrix)[place] += 2 * static_cast<float>(size);
    else
      static_cast<double*>(matrix)[place] += 2 * static_cast<double>(size);
  }
}

bool Trial::make_blas(std::int64_t size) {
  const blas::Kind kind = *blas_kind(key_.family);
  blas::Call call;
  call.routine = blas::routine_of(kind, scalar_of(key_.precision));
  call.uplo = blas::Uplo::lower;
  call.m = call.n = call.k = size;
  call.alpha = 1;
  const auto square = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  const bool vectors = blas::is_matrix_vector(kind);
  const auto operands = static_cast<std::size_t>(blas::operand_count(kind));
  std::array<void*, 3> addresses{};
  std::array<std::int64_t, 3> leading_dimensions{};
  for (std::size_t i = 0; i < operands; ++i) {
    const bool vector = vectors && i > 0;
    addresses[i] = numbers(vector ? static_cast<std::size_t>(size) : square);
    leading_dimensions[i] = vector ? 1 : size;
  }
  if (kind == blas::Kind::trsm) raise_diagonal(addresses[0], size);
  blas::shape_operands(call, std::span(addresses).first(operands), std::span(leading_dimensions).first(operands));
  operation_ = call;
  return true;
}

bool Trial::make_lapack(std::int64_t size) {
  const auto routine = lapack_routine(key_.family, scalar_of(key_.precision));
  if (!routine) return false;
  const lapack::ArgumentList& arguments = lapack::argument_list(*routine);
  const auto ample_work = static_cast<std::int32_t>(4 * size * size + 200 * size);  // more than any of these routines
                                                                                    // asks for
  std::vector<void*> words;
  for (const Argument argument : arguments) {
    void* const word = bytes(sizeof(std::int64_t));
    words.push_back(word);
    if (lapack::is_letter(argument))
      *static_cast<char*>(word) = argument == Argument::uplo ? 'L' : key_.family == Family::gesdd ? 'S' : 'V';
    const bool work = argument == Argument::lwork || argument == Argument::lrwork || argument == Argument::liwork;
    if (lapack::is_integer(argument))
      *static_cast<std::int32_t*>(word) = work ? ample_work : static_cast<std::int32_t>(size);
  }
  const lapack::Call call(*routine, words, sizeof(std::int32_t));
  for (const Argument argument : arguments) {
    void*& word = words[arguments.position(argument)];
    if (lapack::is_matrix(argument)) {
      const lapack::MatrixShape shape = lapack::matrix_shape(call.problem(), argument);
      word = numbers(static_cast<std::size_t>(shape.rows) * static_cast<std::size_t>(shape.columns));
      if (argument == Argument::a && key_.family == Family::potrf) raise_diagonal(word, size);
    } else if (lapack::is_vector(argument)) {
      const lapack::VectorShape shape = lapack::vector_shape(call.problem(), argument);
      word = bytes(shape.element_bytes * static_cast<std::size_t>(shape.count));
    }
  }
  if (!call.valid() || !call.supported()) return false;
  operation_ = call.operation();
  return true;
}

bool Trial::make_transform(std::int64_t size) {
  const blas::Scalar scalar = scalar_of(key_.precision);
  if (!blas::is_complex(scalar)) return false;
  const fft::Request request{.kind = fft::Kind::c2c,
                             .precision = single(key_.precision) ? fft::Precision::f32 : fft::Precision::f64};
  const std::array<std::int64_t, 3> cube{size, size, size};
  const auto transform = fft::basic(request, cube);
  if (!transform) return false;
  const auto points = static_cast<std::size_t>(size * size * size);
  const fft::PlannerCall planner{.transform = *transform, .in = numbers(points), .out = numbers(points)};
  auto plan = fft::make_plan(nullptr, planner, {});
  if (!plan) return false;
  plan_ = std::make_unique<fft::Plan>(*plan);
  operation_ = fft::Execution{.plan = plan_.get(), .in = planner.in, .out = planner.out}.operation();
  return true;
}

}  // namespace blastoff::calibration
