#include "lapack/problem.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "lapack/kinds.h"

namespace blastoff::lapack {

using operation::Intent;

namespace {

template <class Counts>
std::size_t index_among(Routine routine, Argument argument, Counts counts) {
  std::size_t index = 0;
  for (const Argument each : argument_list(routine)) {
    if (each == argument) break;
    if (counts(each)) ++index;
  }
  return index;
}

}  // namespace

bool Problem::belongs_to_matrix() const {
  return kind_row(*this).flops == nullptr;
}

bool Problem::may_fail() const {
  return !belongs_to_matrix() || kind_row(*this).family == Family::norm;
}

bool Problem::has_several_results() const {
  switch (kind_row(*this).family) {
    case Family::eigenproblem:
    case Family::generalized_eigenproblem: return wants_vectors();
    case Family::singular_values:
    case Family::general_eigenproblem: return wants_singular_vectors();
    default: return false;
  }
}

bool Problem::returns_value() const {
  return kind_row(*this).returns_value;
}

bool Problem::packed() const {
  return kind_row(*this).packed;
}

MatrixShape matrix_shape(const Problem& problem, Argument argument) {
  const KindRow& kind = kind_row(problem);
  switch (argument) {
    case Argument::a: return kind.a(problem);
    case Argument::b: return kind.b(problem);
    case Argument::z: return kind.z(problem);
    default: return kind.right(problem);
  }
}

VectorShape vector_shape(const Problem& problem, Argument argument) {
  const std::size_t integer = problem.integer_bytes;
  const KindRow& kind = kind_row(problem);
  const Intent factors = kind.factors_given ? Intent::read : Intent::write;
  const bool all = problem.eigenvalues() == problem.n && !problem.counts_afterwards();
  switch (argument) {
    case Argument::ipiv:
      return {integer, kind.family == Family::row_exchange ? problem.iu - problem.il + 1 : problem.min_side(), factors};
    case Argument::tau: return {problem.element_bytes(), kind.factors_given ? problem.k : problem.min_side(), factors};
    case Argument::w:
      switch (kind.values) {
        case Values::complex_eigenvalues: return {problem.element_bytes(), problem.n};
        case Values::singular_values: return {problem.real_bytes(), problem.min_side()};
        case Values::eigenvalues: break;
      }
      return {problem.real_bytes(), problem.eigenvalues()};
    case Argument::wi: return {problem.real_bytes(), problem.n};
    // LAPACK does not write isuppz if only a part of the spectrum is computed, and programs do not make it longer.
    case Argument::isuppz: return {integer, problem.wants_vectors() && all ? 2 * problem.n : 0};
    case Argument::ifail: return {integer, problem.wants_vectors() ? problem.eigenvalues() : 0};
    case Argument::work: return {problem.element_bytes(), problem.lwork > 0 ? 1 : 0};
    case Argument::rwork: return {problem.real_bytes(), problem.lrwork > 0 ? 1 : 0};
    case Argument::iwork: return {integer, problem.liwork > 0 ? 1 : 0};
    default: return {integer, 1};  // found, rank, info
  }
}

std::size_t result_bytes(const Problem& problem, Argument argument, std::int64_t found) {
  VectorShape shape = vector_shape(problem, argument);
  const bool one_each = argument == Argument::w || argument == Argument::ifail;
  if (one_each && problem.counts_afterwards()) shape.count = std::clamp<std::int64_t>(found, 0, shape.count);
  return shape.element_bytes * static_cast<std::size_t>(shape.count);
}

std::size_t operand_index(Routine routine, Argument argument) {
  return index_among(routine, argument, is_matrix);
}

std::size_t vector_index(Routine routine, Argument argument) {
  return index_among(routine, argument, is_vector);
}

bool has_eigenvectors_afterwards(const Problem& problem) {
  return problem.counts_afterwards() && problem.wants_vectors();
}

std::size_t eigenvectors_index(Routine routine) {
  const ArgumentList& arguments = argument_list(routine);
  return static_cast<std::size_t>(std::count_if(arguments.begin(), arguments.end(), is_vector));
}

std::size_t value_index(Routine routine) {
  return eigenvectors_index(routine);
}

double flops(const Problem& problem) {
  if (problem.belongs_to_matrix()) return 0;
  const double real = kind_row(problem).flops(Sizes(problem));
  return blas::is_complex(problem.scalar()) ? 4 * real : real;
}

double volume(const Problem& problem) {
  // An element that is moved takes a core as long as four operations or more.
  if (problem.belongs_to_matrix())
    return 2.0 * static_cast<double>(problem.element_bytes()) * static_cast<double>(problem.m) *
           static_cast<double>(problem.n);
  const KindRow& kind = kind_row(problem);
  return kind.relative_size * kind.relative_size * kind.relative_size * kind.sides(Sizes(problem));
}

operation::Work work(const Problem& problem) {
  if (problem.belongs_to_matrix()) return {.volume = volume(problem), .memory_bound = true};
  return {.flops = flops(problem), .volume = volume(problem), .depth = std::cbrt(volume(problem))};
}

std::string text(const Problem& problem) {
  std::string result;
  const auto add = [&](const std::string& word) { result += (result.empty() ? "" : " ") + word; };
  const auto add_letter = [&](char letter) {
    add(std::string(1, static_cast<char>(std::toupper(static_cast<unsigned char>(letter)))));
  };
  const bool exchange = kind_row(problem).family == Family::row_exchange;
  for (const Argument argument : argument_list(problem.routine)) {
    switch (argument) {
      case Argument::uplo: add_letter(problem.uplo); break;
      case Argument::trans: add_letter(problem.trans); break;
      case Argument::diag: add_letter(problem.diag); break;
      case Argument::side: add_letter(problem.side); break;
      case Argument::job: add_letter(problem.job); break;
      case Argument::job_right: add_letter(problem.job_right); break;
      case Argument::range: add_letter(problem.range); break;
      case Argument::itype: add(fmt::format("itype={}", problem.itype)); break;
      case Argument::m: add(fmt::format("m={}", problem.m)); break;
      case Argument::n: add(fmt::format("n={}", problem.n)); break;
      case Argument::k: add(fmt::format("k={}", problem.k)); break;
      case Argument::nrhs: add(fmt::format("nrhs={}", problem.k)); break;
      case Argument::il:
        if (problem.range == 'i') add(fmt::format("il={}", problem.il));
        if (exchange) add(fmt::format("k1={}", problem.il));
        break;
      case Argument::iu:
        if (problem.range == 'i') add(fmt::format("iu={}", problem.iu));
        if (exchange) add(fmt::format("k2={}", problem.iu));
        break;
      case Argument::incx: add(fmt::format("incx={}", problem.incx)); break;
      case Argument::vl:
        if (problem.range == 'v') add(fmt::format("vl={}", problem.vl));
        break;
      case Argument::vu:
        if (problem.range == 'v') add(fmt::format("vu={}", problem.vu));
        break;
      default: break;
    }
  }
  return result;
}

}  // namespace blastoff::lapack
