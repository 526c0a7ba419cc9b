#include "lapack/problem.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

namespace blastoff::lapack {
namespace {

using operation::Intent;
using operation::Part;

Part triangle(const Problem& problem) {
  return problem.upper() ? Part::upper : Part::lower;
}

/// A problem of order n is judged like a product of this many times the order. Measured by bench/lapack.py on an H200
/// node against OpenBLAS on 16 cores. Packed problems were not measured, and are judged like the others.
double relative_size(Kind kind) {
  switch (kind) {
    case Kind::potrf:
    case Kind::posv:
    case Kind::potri:
    case Kind::trtri:
    case Kind::geev: return 0.6;
    case Kind::potrs:
    case Kind::getrs:
    case Kind::trtrs:
    case Kind::ormqr: return 1;
    case Kind::sygv:
    case Kind::sygvd:
    case Kind::sygvx:
    case Kind::spgv:
    case Kind::spgvd:
    case Kind::spgvx: return 1.6;
    default: return 1.25;
  }
}

MatrixShape packed_triangle(const Problem& problem, Intent intent) {
  return {problem.n * (problem.n + 1) / 2, 1, Part::full, intent};
}

MatrixShape matrix_a(const Problem& problem) {
  const std::int64_t n = problem.n;
  switch (problem.kind()) {
    case Kind::potrf:
    case Kind::posv:
    case Kind::potri:
    case Kind::trtri: return {n, n, triangle(problem), Intent::update};
    case Kind::potrs:
    case Kind::trtrs:
    case Kind::syevr:
    case Kind::syevx:
    case Kind::sygvx: return {n, n, triangle(problem), Intent::read};
    case Kind::getrs:
    case Kind::geev: return {n, n, Part::full, Intent::read};
    case Kind::gesv:
    case Kind::getri: return {n, n, Part::full, Intent::update};
    case Kind::getrf:
    case Kind::geqrf:
    case Kind::gels:
    case Kind::orgqr:
    case Kind::laswp: return {problem.m, n, Part::full, Intent::update};
    case Kind::ormqr: return {problem.side == 'l' ? problem.m : n, problem.k, Part::full, Intent::read};
    case Kind::syev:
    case Kind::syevd:
    case Kind::sygv:
    case Kind::sygvd:
      // The eigenvectors replace the whole matrix.
      if (problem.wants_vectors()) return {n, n, Part::full, Intent::update};
      return {n, n, triangle(problem), Intent::read};
    case Kind::spev:
    case Kind::spevd:
    case Kind::spevx:
    case Kind::spgv:
    case Kind::spgvd:
    case Kind::spgvx: return packed_triangle(problem, Intent::read);
    case Kind::gesdd:
    case Kind::gesvd: return {problem.m, n, Part::full, Intent::read};
  }
  return {};
}

MatrixShape matrix_b(const Problem& problem) {
  switch (problem.kind()) {
    case Kind::potrs:
    case Kind::posv:
    case Kind::getrs:
    case Kind::gesv:
    case Kind::trtrs: return {problem.n, problem.k, Part::full, Intent::update};
    case Kind::ormqr: return {problem.m, problem.n, Part::full, Intent::update};
    case Kind::gels: return {std::max(problem.m, problem.n), problem.k, Part::full, Intent::update};
    // B is replaced by its Cholesky factor.
    case Kind::spgv:
    case Kind::spgvd:
    case Kind::spgvx: return packed_triangle(problem, Intent::update);
    default: return {problem.n, problem.n, triangle(problem), Intent::update};
  }
}

MatrixShape matrix_z(const Problem& problem) {
  switch (problem.kind()) {
    case Kind::gesdd:
    case Kind::gesvd: {
      const std::int64_t columns = problem.job == 'a' ? problem.m : problem.job == 's' ? problem.min_side() : 0;
      return {columns == 0 ? 0 : problem.m, columns, Part::full, Intent::write};
    }
    case Kind::geev: return {};
    default: {
      if (!problem.wants_vectors()) return {};
      const std::int64_t columns = problem.counts_afterwards() ? 0 : problem.eigenvalues();
      return {problem.n, columns, Part::full, Intent::write};
    }
  }
}

MatrixShape matrix_right(const Problem& problem) {
  if (problem.kind() == Kind::geev) {
    const std::int64_t order = problem.job_right == 'v' ? problem.n : 0;
    return {order, order, Part::full, Intent::write};
  }
  const std::int64_t rows = problem.job_right == 'a' ? problem.n : problem.job_right == 's' ? problem.min_side() : 0;
  return {rows, rows == 0 ? 0 : problem.n, Part::full, Intent::write};
}

template <class Counts>
std::size_t index_among(Routine routine, Argument argument, Counts counts) {
  std::size_t index = 0;
  for (const Argument each : argument_list(routine)) {
    if (each == argument) break;
    if (counts(each)) ++index;
  }
  return index;
}

/// Counts the operations for real matrices.
double real_flops(const Problem& problem) {
  const auto m = static_cast<double>(problem.m);
  const auto n = static_cast<double>(problem.n);
  const auto k = static_cast<double>(problem.k);
  const double cube = n * n * n;
  const double low = std::min(m, n);
  const double high = std::max(m, n);
  switch (problem.kind()) {
    case Kind::potrf:
    case Kind::trtri: return cube / 3;
    case Kind::potri: return 2 * cube / 3;
    case Kind::trtrs: return n * n * k;
    case Kind::posv: return cube / 3 + 2 * n * n * k;
    case Kind::potrs:
    case Kind::getrs: return 2 * n * n * k;
    case Kind::getrf: return low * low * (high - low / 3);
    case Kind::gesv: return 2 * cube / 3 + 2 * n * n * k;
    case Kind::getri: return 4 * cube / 3;
    case Kind::laswp: return 0;
    case Kind::geqrf: return 2 * low * low * (high - low / 3);
    case Kind::orgqr: return 4 * m * n * k - 2 * (m + n) * k * k + 4 * k * k * k / 3;
    case Kind::ormqr: return problem.side == 'l' ? 2 * n * k * (2 * m - k) : 2 * m * k * (2 * n - k);
    case Kind::gels: return 2 * low * low * (high - low / 3) + 4 * high * low * k;
    case Kind::syev:
    case Kind::syevd:
    case Kind::syevr:
    case Kind::syevx:
    case Kind::spev:
    case Kind::spevd:
    case Kind::spevx: return problem.wants_vectors() ? 9 * cube : 4 * cube / 3;
    case Kind::sygv:
    case Kind::sygvd:
    case Kind::sygvx:
    case Kind::spgv:
    case Kind::spgvd:
    case Kind::spgvx: return problem.wants_vectors() ? 12 * cube : 3 * cube;
    case Kind::gesdd:
    case Kind::gesvd:
      return problem.wants_singular_vectors() ? 4 * high * low * low + 22 * low * low * low
                                              : 4 * low * low * (high - low / 3);
    case Kind::geev: return problem.job_right == 'v' ? 25 * cube : 10 * cube;
  }
  return 0;
}

/// The product of the three sides of the problem.
double product_of_sides(const Problem& problem) {
  const auto m = static_cast<double>(problem.m);
  const auto n = static_cast<double>(problem.n);
  const auto k = static_cast<double>(problem.k);
  switch (problem.kind()) {
    case Kind::potrs:
    case Kind::getrs:
    case Kind::trtrs: return n * n * k;
    case Kind::getrf:
    case Kind::geqrf:
    case Kind::gels:
    case Kind::gesdd:
    case Kind::gesvd: return m * n * std::min(m, n);
    case Kind::orgqr:
    case Kind::ormqr: return m * n * k;
    default: return n * n * n;
  }
}

}  // namespace

MatrixShape matrix_shape(const Problem& problem, Argument argument) {
  switch (argument) {
    case Argument::a: return matrix_a(problem);
    case Argument::b: return matrix_b(problem);
    case Argument::z: return matrix_z(problem);
    default: return matrix_right(problem);
  }
}

VectorShape vector_shape(const Problem& problem, Argument argument) {
  const std::size_t integer = problem.integer_bytes;
  const Kind kind = problem.kind();
  const bool all = problem.eigenvalues() == problem.n && !problem.counts_afterwards();
  switch (argument) {
    case Argument::ipiv: {
      if (kind == Kind::laswp) return {integer, problem.iu - problem.il + 1, Intent::read};
      const bool given = kind == Kind::getrs || kind == Kind::getri;
      return {integer, problem.min_side(), given ? Intent::read : Intent::write};
    }
    case Argument::tau: {
      const bool given = kind == Kind::orgqr || kind == Kind::ormqr;
      return {problem.element_bytes(), given ? problem.k : problem.min_side(), given ? Intent::read : Intent::write};
    }
    case Argument::w: {
      if (kind == Kind::geev) return {problem.element_bytes(), problem.n};
      const bool singular_values = kind == Kind::gesdd || kind == Kind::gesvd;
      return {problem.real_bytes(), singular_values ? problem.min_side() : problem.eigenvalues()};
    }
    case Argument::wi: return {problem.real_bytes(), problem.n};
    // LAPACK does not write isuppz if only a part of the spectrum is computed, and programs do not make it longer.
    case Argument::isuppz: return {integer, problem.wants_vectors() && all ? 2 * problem.n : 0};
    case Argument::ifail: return {integer, problem.wants_vectors() ? problem.eigenvalues() : 0};
    case Argument::work: return {problem.element_bytes(), problem.lwork > 0 ? 1 : 0};
    case Argument::rwork: return {problem.real_bytes(), problem.lrwork > 0 ? 1 : 0};
    case Argument::iwork: return {integer, problem.liwork > 0 ? 1 : 0};
    default: return {integer, 1};  // found, info
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

double flops(const Problem& problem) {
  return blas::is_complex(problem.scalar()) ? 4 * real_flops(problem) : real_flops(problem);
}

double volume(const Problem& problem) {
  // As for a product of a matrix and a vector: half the bytes of the matrix.
  if (problem.only_moves())
    return 0.5 * static_cast<double>(problem.element_bytes()) * static_cast<double>(problem.m) *
           static_cast<double>(problem.n);
  const double relative = relative_size(problem.kind());
  return relative * relative * relative * product_of_sides(problem);
}

operation::Work work(const Problem& problem) {
  if (problem.only_moves()) return {.volume = volume(problem), .memory_bound = true};
  return {.flops = flops(problem), .volume = volume(problem), .depth = std::cbrt(volume(problem))};
}

std::string text(const Problem& problem) {
  std::string result;
  const auto add = [&](const std::string& word) { result += (result.empty() ? "" : " ") + word; };
  const auto add_letter = [&](char letter) {
    add(std::string(1, static_cast<char>(std::toupper(static_cast<unsigned char>(letter)))));
  };
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
        if (problem.only_moves()) add(fmt::format("k1={}", problem.il));
        break;
      case Argument::iu:
        if (problem.range == 'i') add(fmt::format("iu={}", problem.iu));
        if (problem.only_moves()) add(fmt::format("k2={}", problem.iu));
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
