// Chooses and checks factorizations by LAPACK. Each is checked by the product of its factors.
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <cmath>

#include "dense.h"
#include "lapack_calls.h"
#include "player.h"

namespace coherence {
namespace {

Block block_of(const Matrix& matrix, const Box& box) {
  return {static_cast<int>(box.rows), static_cast<int>(box.columns), matrix.element(box.row, box.column),
          static_cast<int>(matrix.leading_dimension())};
}

std::string text_of(const Factorization& plan) {
  static constexpr const char* names[] = {"potrf", "posv", "getrf", "geqrf", "syevd"};
  const Matrix& a = *plan.matrices[0];
  const Box& box = plan.boxes[0];
  char text[200];
  snprintf(text, sizeof text, "%s of type %d, %lld x %lld, uplo %c, transpose %c, %s %llu at (%lld, %lld)",
           names[static_cast<std::size_t>(plan.kind)], static_cast<int>(a.scalar()), static_cast<long long>(box.rows),
           static_cast<long long>(box.columns), plan.uplo, plan.transpose, describe(a.storage()),
           static_cast<unsigned long long>(a.identity()), static_cast<long long>(box.row),
           static_cast<long long>(box.column));
  return text;
}

bool in_triangle(char uplo, std::int64_t i, std::int64_t j) {
  return uplo == 'U' ? i <= j : i >= j;
}

/// The Hermitian matrix with the given triangle.
Dense hermitian(const Dense& a, char uplo) {
  Dense result = a;
  for (std::int64_t j = 0; j < a.columns(); ++j)
    for (std::int64_t i = 0; i < a.rows(); ++i)
      if (!in_triangle(uplo, i, j)) result(i, j) = std::conj(a(j, i));
  return result;
}

/// A triangle with zeros on the other side and, if `unit`, ones on the diagonal.
Dense triangle(const Dense& a, char uplo, std::int64_t rows, std::int64_t columns, bool unit = false) {
  Dense result(rows, columns);
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < rows; ++i) {
      if (in_triangle(uplo, i, j)) result(i, j) = a(i, j);
      if (unit && i == j) result(i, j) = 1;
    }
  return result;
}

Dense cholesky_product(const Dense& factor, char uplo) {
  const Dense part = triangle(factor, uplo, factor.rows(), factor.columns());
  return uplo == 'U' ? product(adjoint(part), part) : product(part, adjoint(part));
}

/// The product P L U, with pivots as getrf returns them.
Dense lu_product(const Dense& factors, const std::vector<int>& pivots) {
  const std::int64_t inner = std::min(factors.rows(), factors.columns());
  Dense result =
      product(triangle(factors, 'L', factors.rows(), inner, true), triangle(factors, 'U', inner, factors.columns()));
  for (std::int64_t i = inner; i-- > 0;) result.swap_rows(i, pivots[static_cast<std::size_t>(i)] - 1);
  return result;
}

/// The product H(1) ... H(k) R.
Dense qr_product(const Dense& factors, const std::vector<Coefficient>& tau) {
  const std::int64_t inner = std::min(factors.rows(), factors.columns());
  Dense result = triangle(factors, 'U', factors.rows(), factors.columns());
  for (std::int64_t k = inner; k-- > 0;) {
    const auto v = [&](std::int64_t i) { return i == k ? Coefficient(1) : factors(i, k); };
    for (std::int64_t j = 0; j < result.columns(); ++j) {
      Coefficient sum = 0;
      for (std::int64_t i = k; i < result.rows(); ++i) sum += std::conj(v(i)) * result(i, j);
      for (std::int64_t i = k; i < result.rows(); ++i) result(i, j) -= tau[static_cast<std::size_t>(k)] * v(i) * sum;
    }
  }
  return result;
}

Dense identity(std::int64_t order) {
  Dense result(order, order);
  for (std::int64_t i = 0; i < order; ++i) result(i, i) = 1;
  return result;
}

}  // namespace

void Player::put(Matrix& matrix, std::int64_t row, std::int64_t column, blas::Coefficient value) {
  set_value(matrix.shadow_element(row, column), matrix.scalar(), value);
  set_value(matrix.element(row, column), matrix.scalar(), value);
}

bool Player::plan_factorization(Factorization& plan) {
  std::vector<Matrix*> candidates;
  const blas::Scalar scalar = random_.pick({Scalar::s, Scalar::d, Scalar::c, Scalar::z});
  for (const auto& matrix : matrices_)
    if (matrix->scalar() == scalar) candidates.push_back(matrix.get());
  plan.kind = random_.pick({Factorization::Kind::cholesky, Factorization::Kind::cholesky_at_once,
                            Factorization::Kind::lu, Factorization::Kind::qr, Factorization::Kind::eigenvectors});
  plan.uplo = random_.pick({'U', 'L'});
  plan.transpose = random_.pick({'N', 'T', 'C'});
  plan.matrices = {candidates[random_.below(candidates.size())], candidates[random_.below(candidates.size())]};
  const Matrix &a = *plan.matrices[0], &b = *plan.matrices[1];
  const std::int64_t most = std::min({options_.max_size, a.rows(), a.columns(), b.rows()});
  const std::int64_t n = random_.between(1, random_.one_in(3) ? std::min<std::int64_t>(8, most) : most);
  const std::int64_t rows = plan.kind == Factorization::Kind::qr ? std::min(a.rows(), n + random_.between(0, n)) : n;
  plan.boxes[0] = {0, 0, rows, n};
  plan.boxes[1] = {0, 0, n, random_.between(1, std::min<std::int64_t>(8, b.columns()))};
  return choose_places(plan.matrices.data(), plan.boxes.data(), 2);
}

/// Makes one element of each column larger than the sum of all others in its row and column. In one of eight Cholesky
/// factorizations, one of these elements is negative. Returns its number, or 0 if there is none.
std::int64_t Player::make_dominant(const Factorization& plan) {
  Matrix& a = *plan.matrices[0];
  const Box& box = plan.boxes[0];
  const bool permuted = plan.kind == Factorization::Kind::lu;
  std::vector<std::int64_t> places(static_cast<std::size_t>(box.columns));
  for (std::int64_t j = 0; j < box.columns; ++j) places[static_cast<std::size_t>(j)] = j;
  for (std::size_t j = places.size(); permuted && j-- > 1;) std::swap(places[j], places[random_.below(j + 1)]);
  for (std::int64_t j = 0; j < box.columns; ++j)
    put(a, box.row + places[static_cast<std::size_t>(j)], box.column + j, 1.5 + std::abs(random_.unit()));
  const bool definite =
      plan.kind == Factorization::Kind::cholesky || plan.kind == Factorization::Kind::cholesky_at_once;
  if (!definite || !random_.one_in(8)) return 0;
  const std::int64_t negative = random_.between(0, box.columns - 1);
  put(a, box.row + negative, box.column + negative, -1.5);
  return negative + 1;
}

void Player::factorization_step() {
  if (!has_lapack()) return;
  Factorization plan;
  const bool again = !recent_factorizations_.empty() && !random_.one_in(3);
  if (again)
    plan = recent_factorizations_[random_.below(recent_factorizations_.size())];
  else if (!plan_factorization(plan))
    return;
  factorise(plan);
  if (again) return;
  if (recent_factorizations_.size() == kept_plans) recent_factorizations_.erase(recent_factorizations_.begin());
  recent_factorizations_.push_back(plan);
}

void Player::factorise(const Factorization& plan) {
  Matrix &a = *plan.matrices[0], &b = *plan.matrices[1];
  doing_ = text_of(plan);
  ++factorizations_;
  switch (plan.kind) {
    case Factorization::Kind::cholesky:
    case Factorization::Kind::cholesky_at_once: factorise_by_cholesky(plan); break;
    case Factorization::Kind::lu: factorise_by_lu(plan); break;
    case Factorization::Kind::qr: factorise_by_qr(plan); break;
    case Factorization::Kind::eigenvectors: find_eigenvectors(plan); break;
  }
  for (Matrix* matrix : plan.matrices) check(*matrix, "beside the factors of");
  if (random_.one_in(2)) multiply_by(a, plan.boxes[0]);
  renew(a, plan.boxes[0]);
  renew(b, plan.boxes[1]);
}

void Player::factorise_by_cholesky(const Factorization& plan) {
  Matrix &a = *plan.matrices[0], &b = *plan.matrices[1];
  const Box &box = plan.boxes[0], &sides = plan.boxes[1];
  const bool at_once = plan.kind == Factorization::Kind::cholesky_at_once;
  const std::int64_t indefinite = make_dominant(plan);
  const Dense before = hermitian(Dense::of_shadow(a, box), plan.uplo), right = Dense::of_shadow(b, sides);
  const int info = at_once ? posv(a.scalar(), plan.uplo, block_of(a, box), block_of(b, sides))
                           : potrf(a.scalar(), plan.uplo, block_of(a, box));
  if (info != indefinite) fail("info is " + std::to_string(info) + " instead of " + std::to_string(indefinite));
  const std::int64_t complete = indefinite > 0 ? indefinite - 1 : box.columns;
  Dense factor = Dense::of_memory(a, box);
  factor.cut(complete, complete);
  Dense expected = before;
  expected.cut(complete, complete);
  compare(cholesky_product(factor, plan.uplo), expected, before.largest(), a.scalar());
  for (std::int64_t j = 0; j < box.columns; ++j)
    for (std::int64_t i = 0; i < box.rows; ++i)
      if (in_triangle(plan.uplo, i, j)) a.adopt({box.row + i, box.column + j, 1, 1});
  if (indefinite > 0) return;
  if (!at_once) {
    check(a, "beside the factor of");
    Matrix& other = *matrices_[random_.below(matrices_.size())];
    if (&other != &a && &other != &b) write_step(other);
    doing_ = text_of(plan);
    solve(
        plan, [&] { return potrs(a.scalar(), plan.uplo, block_of(a, box), block_of(b, sides)); }, before, right);
  } else {
    compare_solution(plan, before, right);
  }
}

void Player::factorise_by_lu(const Factorization& plan) {
  Matrix &a = *plan.matrices[0], &b = *plan.matrices[1];
  const Box &box = plan.boxes[0], &sides = plan.boxes[1];
  make_dominant(plan);
  const Dense before = Dense::of_shadow(a, box), right = Dense::of_shadow(b, sides);
  std::vector<int> pivots(static_cast<std::size_t>(box.columns));
  if (getrf(a.scalar(), block_of(a, box), pivots.data()) != 0) fail("info is not 0");
  for (const int pivot : pivots)
    if (pivot < 1 || pivot > box.rows) fail("a pivot is no row: " + std::to_string(pivot));
  compare(lu_product(Dense::of_memory(a, box), pivots), before, 4 * before.largest(), a.scalar());
  a.adopt(box);
  check(a, "beside the factors of");
  const Dense left = plan.transpose == 'N' ? before : plan.transpose == 'C' ? adjoint(before) : transpose(before);
  solve(
      plan, [&] { return getrs(a.scalar(), plan.transpose, block_of(a, box), pivots.data(), block_of(b, sides)); },
      left, right);
}

void Player::factorise_by_qr(const Factorization& plan) {
  Matrix& a = *plan.matrices[0];
  const Box& box = plan.boxes[0];
  make_dominant(plan);
  const Dense before = Dense::of_shadow(a, box);
  const auto count = static_cast<std::size_t>(std::min(box.rows, box.columns));
  std::vector<Coefficient> room(count), tau(count);
  if (geqrf(a.scalar(), block_of(a, box), room.data()) != 0) fail("info is not 0");
  for (std::size_t i = 0; i < count; ++i)
    tau[i] = value_at(reinterpret_cast<const char*>(room.data()) + i * a.element_size(), a.scalar());
  compare(qr_product(Dense::of_memory(a, box), tau), before, 4 * before.largest(), a.scalar());
  a.adopt(box);
}

void Player::find_eigenvectors(const Factorization& plan) {
  Matrix& a = *plan.matrices[0];
  const Box& box = plan.boxes[0];
  make_dominant(plan);
  const Dense before = hermitian(Dense::of_shadow(a, box), plan.uplo);
  std::vector<double> values(static_cast<std::size_t>(box.columns));
  if (heevd(a.scalar(), plan.uplo, block_of(a, box), values.data()) != 0) fail("info is not 0");
  const Dense vectors = Dense::of_memory(a, box);
  Dense scaled = vectors;
  for (std::int64_t j = 0; j < box.columns; ++j) {
    float narrow = 0;
    memcpy(&narrow, reinterpret_cast<const char*>(values.data()) + static_cast<std::size_t>(j) * sizeof narrow,
           sizeof narrow);
    const double value = is_single(a.scalar()) ? static_cast<double>(narrow) : values[static_cast<std::size_t>(j)];
    for (std::int64_t i = 0; i < box.rows; ++i) scaled(i, j) *= value;
  }
  compare(product(before, vectors), scaled, 4 * before.largest(), a.scalar());
  compare(product(adjoint(vectors), vectors), identity(box.columns), 1, a.scalar());
  a.adopt(box);
}

void Player::solve(const Factorization& plan, const std::function<int()>& call, const Dense& left, const Dense& right) {
  doing_ += ", solving";
  if (call() != 0) fail("info is not 0");
  compare_solution(plan, left, right);
}

void Player::compare_solution(const Factorization& plan, const Dense& left, const Dense& right) {
  Matrix& b = *plan.matrices[1];
  const Dense solution = Dense::of_memory(b, plan.boxes[1]);
  compare(product(left, solution), right, 4 * left.largest() * solution.largest(), b.scalar());
  b.adopt(plan.boxes[1]);
}

/// `scale`: the magnitude to which one rounding error of an element is relative.
void Player::compare(const Dense& found, const Dense& expected, double scale, blas::Scalar scalar) {
  const double tolerance =
      16 * machine_epsilon(scalar) * (static_cast<double>(expected.rows()) + 8) * scale + min_normal(scalar);
  for (std::int64_t j = 0; j < expected.columns(); ++j)
    for (std::int64_t i = 0; i < expected.rows(); ++i) {
      if (std::abs(found(i, j) - expected(i, j)) <= tolerance) continue;
      char text[200];
      snprintf(text, sizeof text, "wrong factors: their product's (%lld, %lld) is %.9g%+.9gi instead of %.9g%+.9gi",
               static_cast<long long>(i), static_cast<long long>(j), found(i, j).real(), found(i, j).imag(),
               expected(i, j).real(), expected(i, j).imag());
      fail(text);
    }
}

}  // namespace coherence
