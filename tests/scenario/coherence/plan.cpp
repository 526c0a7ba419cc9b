// Chooses and checks one call.
#include <algorithm>
#include <cmath>
#include <limits>

#include "calls.h"
#include "player.h"
#include "reference_blas.h"

namespace coherence {
namespace {

using namespace blastoff::blas;

bool overlap(const Box& a, const Box& b) {
  return a.row < b.row + b.rows && b.row < a.row + a.rows && a.column < b.column + b.columns &&
         b.column < a.column + a.columns;
}

double largest(const Matrix& matrix, const Box& box) {
  double result = 0;
  for (std::int64_t j = box.column; j < box.column + box.columns; ++j) {
    for (std::int64_t i = box.row; i < box.row + box.rows; ++i) {
      const double size = std::abs(value_at(matrix.shadow_element(i, j), matrix.scalar()));
      if (size > result) result = size;
    }
  }
  return result;
}

bool in_part(Part part, std::int64_t i, std::int64_t j) {
  return part == Part::full || (part == Part::upper ? i <= j : i >= j);
}

/// The magnitude to which rounding errors are proportional, if the operands' elements are at most a, b and c in size.
/// With random signs the errors of a sum grow no faster than its terms. Solves here have ||A^-1|| below 4 (see
/// Dominant).
double error_scale(const Call& call, double a, double b, double c) {
  const double inner = static_cast<double>(call.k) + 8;
  switch (call.kind()) {
    case Kind::trsm: return 4 * inner * c;
    case Kind::trmm: return (inner * a + 1) * c;
    case Kind::syrk:
    case Kind::herk: return inner * a * a + c;
    default: return 2 * inner * a * b + c;
  }
}

void shape(Call& call) {
  void* const nowhere[3] = {};
  const std::int64_t unknown[3] = {1, 1, 1};
  shape_operands(call, nowhere, unknown);
}

/// Makes the diagonal of a solve's A at least 1, in matrix and shadow. The destructor restores it.
class Dominant {
 public:
  Dominant(Matrix& matrix, const Box& box, Random& random) : matrix_(matrix), box_(box) {
    for (std::int64_t i = 0; i < box.rows; ++i) {
      kept_.push_back(value_at(shadow(i), matrix.scalar()));
      put(i, {(random.one_in(2) ? 1 : -1) * (1 + std::abs(random.unit())), 0});
    }
  }
  ~Dominant() {
    for (std::int64_t i = 0; i < box_.rows; ++i) put(i, kept_[static_cast<std::size_t>(i)]);
  }
  Dominant(const Dominant&) = delete;
  Dominant& operator=(const Dominant&) = delete;

 private:
  char* shadow(std::int64_t i) const { return matrix_.shadow_element(box_.row + i, box_.column + i); }
  void put(std::int64_t i, Coefficient value) {
    set_value(shadow(i), matrix_.scalar(), value);
    set_value(matrix_.element(box_.row + i, box_.column + i), matrix_.scalar(), value);
  }

  Matrix& matrix_;
  Box box_;
  std::vector<Coefficient> kept_;
};

}  // namespace

void Player::choose_options(Call& call) {
  const bool complex = is_complex(call.scalar());
  call.side = random_.pick({Side::left, Side::right});
  call.uplo = random_.pick({Uplo::upper, Uplo::lower});
  call.reversed_x = random_.one_in(3);
  call.reversed_y = random_.one_in(3);
  call.diagonal = random_.pick({Diagonal::unit, Diagonal::unit, Diagonal::unit, Diagonal::non_unit});
  call.transpose_a = random_.pick({Transpose::none, Transpose::transpose, Transpose::conjugate});
  call.transpose_b = random_.pick({Transpose::none, Transpose::transpose, Transpose::conjugate});
  const bool symmetric = call.kind() == Kind::syrk || call.kind() == Kind::syr2k;
  const bool hermitian = call.kind() == Kind::herk || call.kind() == Kind::her2k;
  if (call.transpose_a == Transpose::conjugate && symmetric && complex) call.transpose_a = Transpose::transpose;
  if (call.transpose_a == Transpose::transpose && hermitian) call.transpose_a = Transpose::conjugate;
}

void Player::choose_coefficients(Call& call) {
  const auto choose = [&] {
    const Coefficient any = random_.pick<Coefficient>({0.5, {0.25, -0.5}, {-0.75, 0.125}});
    return is_complex(call.scalar()) ? any : Coefficient(any.real());
  };
  call.alpha = random_.one_in(2) ? 1 : random_.one_in(20) ? 0 : choose();
  call.beta = random_.one_in(2) ? 0 : random_.one_in(2) ? 1 : choose();
  if (call.kind() == Kind::herk) call.alpha = call.alpha.real();
  if (call.kind() == Kind::herk || call.kind() == Kind::her2k) call.beta = call.beta.real();
}

bool Player::choose_sizes(Plan& plan) {
  Call& call = plan.call;
  const auto choose = [&] {
    if (random_.one_in(60)) return std::int64_t{0};
    return random_.between(1, random_.one_in(3) ? std::min<std::int64_t>(8, options_.max_size) : options_.max_size);
  };
  call.m = choose();
  call.n = choose();
  call.k = choose();
  for (int attempt = 0; attempt < 12; ++attempt) {
    shape(call);
    bool fits = true;
    for (std::size_t i = 0; i < call.operands().size(); ++i) {
      const Matrix& matrix = *plan.matrices[i];
      const Box box = extent(plan, i);
      fits = fits && box.rows <= matrix.rows() && box.columns <= matrix.columns();
    }
    if (fits) return true;
    call.m = (call.m + 1) / 2;
    call.n = (call.n + 1) / 2;
    call.k = (call.k + 1) / 2;
  }
  return false;
}

Box Player::extent(const Plan& plan, std::size_t index) {
  const Operand& operand = plan.call.operands()[index];
  return plan.down[index] ? Box{0, 0, operand.columns, 1} : Box{0, 0, operand.rows, operand.columns};
}

bool Player::choose_places(Matrix* const* matrices, Box* boxes, std::size_t count) {
  const std::size_t result = count - 1;
  for (int attempt = 0; attempt < 20; ++attempt) {
    for (std::size_t i = 0; i < count; ++i) {
      Box& box = boxes[i];
      const std::int64_t rows_left = matrices[i]->rows() - box.rows;
      const std::int64_t columns_left = matrices[i]->columns() - box.columns;
      box = {random_.pick({std::int64_t{0}, rows_left, random_.between(0, rows_left)}),
             random_.pick({std::int64_t{0}, columns_left, random_.between(0, columns_left)}), box.rows, box.columns};
    }
    bool apart = true;
    for (std::size_t i = 0; i < result; ++i) {
      if (matrices[i] == matrices[result] && overlap(boxes[i], boxes[result])) apart = false;
    }
    if (apart) return true;
  }
  return false;
}

bool Player::plan_call(Plan& plan, Matrix* by_all, bool may_write_by_all) {
  const Scalar scalar =
      by_all != nullptr ? by_all->scalar() : random_.pick({Scalar::s, Scalar::d, Scalar::c, Scalar::z});
  do {
    plan.call.routine = static_cast<Routine>(random_.below(routines().size()));
  } while (plan.call.scalar() != scalar || !callable(plan.call.routine));
  choose_options(plan.call);
  shape(plan.call);

  std::vector<Matrix*> candidates;
  for (const auto& matrix : matrices_) {
    if (matrix->scalar() == scalar) candidates.push_back(matrix.get());
  }
  const std::size_t result = plan.call.operands().size() - 1;
  for (std::size_t i = 0; i <= result; ++i) plan.matrices[i] = candidates[random_.below(candidates.size())];
  if (by_all != nullptr) {
    plan.matrices[may_write_by_all ? result : random_.below(result)] = by_all;
    plan.by_all = by_all->identity();
    if (!may_write_by_all) plan.call.diagonal = Diagonal::unit;  // otherwise a solve would first write its diagonal
  }
  for (std::size_t i = 0; i <= result; ++i) plan.down[i] = plan.call.operands()[i].transient && random_.one_in(2);
  if (!choose_sizes(plan)) return false;
  for (std::size_t i = 0; i <= result; ++i) plan.boxes[i] = extent(plan, i);
  return choose_places(plan.matrices.data(), plan.boxes.data(), result + 1);
}

void Player::multiply_by(Matrix& matrix, const Box& box) {
  Plan plan;
  const auto is_product = [&](const RoutineRow& row) {
    return row.kind == Kind::gemm && row.scalar == matrix.scalar();
  };
  plan.call.routine =
      static_cast<Routine>(std::find_if(routines().begin(), routines().end(), is_product) - routines().begin());
  plan.call.m = box.rows;
  plan.call.n = random_.between(1, 8);
  plan.call.k = box.columns;
  shape(plan.call);
  std::vector<Matrix*> factors, results;
  for (const auto& other : matrices_) {
    if (other->scalar() != matrix.scalar() || other.get() == &matrix || other->columns() < plan.call.n) continue;
    if (other->rows() >= plan.call.k) factors.push_back(other.get());
    if (other->rows() >= plan.call.m) results.push_back(other.get());
  }
  if (factors.empty() || results.empty()) return;
  plan.matrices = {&matrix, factors[random_.below(factors.size())], results[random_.below(results.size())]};
  plan.boxes = {box, {0, 0, plan.call.k, plan.call.n}, {0, 0, plan.call.m, plan.call.n}};
  if (choose_places(&plan.matrices[1], &plan.boxes[1], 2)) run(plan);
}

void Player::renew(Matrix& matrix, const Box& box) {
  const double size = largest(matrix, box);
  if (size == 0 || (size <= 2 * magnitude_ && size > 1e-9 * magnitude_)) return;
  matrix.randomise_shadow(box, magnitude_, random_);
  matrix.store(box, random_);
}

void Player::run(Plan& plan) {
  Call& call = plan.call;
  choose_coefficients(call);
  std::array<void*, 3> addresses{};
  std::array<void*, 3> shadows{};
  std::array<std::int64_t, 3> leading{}, shadow_leading{};
  const std::size_t count = call.operands().size();
  for (std::size_t i = 0; i < count; ++i) {
    const Matrix& matrix = *plan.matrices[i];
    addresses[i] = matrix.element(plan.boxes[i].row, plan.boxes[i].column);
    shadows[i] = matrix.shadow_element(plan.boxes[i].row, plan.boxes[i].column);
    leading[i] = plan.down[i] ? 1 : matrix.leading_dimension();
    shadow_leading[i] = plan.down[i] ? 1 : matrix.rows();
  }
  Call shadow_call = call;
  shape_operands(call, addresses, leading);
  shape_operands(shadow_call, shadows, shadow_leading);

  Matrix& result = *plan.matrices[count - 1];
  const Box& box = plan.boxes[count - 1];
  std::unique_ptr<Dominant> dominant;
  if (call.kind() == Kind::trsm && call.diagonal == Diagonal::non_unit) {
    dominant = std::make_unique<Dominant>(*plan.matrices[0], plan.boxes[0], random_);
  }
  const bool written = !is_matrix_vector(call.kind()) || (call.m > 0 && call.n > 0);  // otherwise y does not change
  if (written && call.result().intent == Intent::write && call.result().part == Part::full && random_.one_in(4)) {
    // A result that is not read may hold anything.
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (std::int64_t j = box.column; j < box.column + box.columns; ++j) {
      for (std::int64_t i = box.row; i < box.row + box.rows; ++i) {
        set_value(result.shadow_element(i, j), result.scalar(), {nan, nan});
      }
    }
    result.store(box, random_);
  }

  const double a = largest(*plan.matrices[0], plan.boxes[0]), b = largest(*plan.matrices[1], plan.boxes[1]);
  const double c = call.result().intent == Intent::write ? 0 : largest(result, box);
  const double tolerance = 16 * machine_epsilon(call.scalar()) * error_scale(call, a, b, c) + min_normal(call.scalar());

  char text[200];
  snprintf(text, sizeof text,
           "%s m %lld n %lld k %lld side %d uplo %d transposes %d %d diagonal %d alpha %g%+gi beta %g%+gi",
           row(call.routine).name, static_cast<long long>(call.m), static_cast<long long>(call.n),
           static_cast<long long>(call.k), static_cast<int>(call.side), static_cast<int>(call.uplo),
           static_cast<int>(call.transpose_a), static_cast<int>(call.transpose_b), static_cast<int>(call.diagonal),
           call.alpha.real(), call.alpha.imag(), call.beta.real(), call.beta.imag());
  doing_ = text;
  for (std::size_t i = 0; i < count; ++i) {
    snprintf(text, sizeof text, "; %s %llu at (%lld, %lld)", describe(plan.matrices[i]->storage()),
             static_cast<unsigned long long>(plan.matrices[i]->identity()), static_cast<long long>(plan.boxes[i].row),
             static_cast<long long>(plan.boxes[i].column));
    doing_ += text;
  }

  issue(call, random_);
  blastoff::reference::compute(shadow_call);
  ++calls_;
  compare_result(plan, tolerance);
  dominant.reset();
  for (std::size_t i = 0; i < count; ++i) check(*plan.matrices[i], "beside the result of");
  renew(result, box);
}

void Player::compare_result(const Plan& plan, double tolerance) {
  const std::size_t last = plan.call.operands().size() - 1;
  const Matrix& matrix = *plan.matrices[last];
  const Box& box = plan.boxes[last];
  const Part part = plan.call.result().part;
  for (std::int64_t j = 0; j < box.columns; ++j) {
    for (std::int64_t i = 0; i < box.rows; ++i) {
      if (!in_part(part, i, j)) continue;
      char* found = matrix.element(box.row + i, box.column + j);
      char* expected = matrix.shadow_element(box.row + i, box.column + j);
      const Coefficient difference = value_at(found, matrix.scalar()) - value_at(expected, matrix.scalar());
      if (!(std::abs(difference) <= tolerance)) {
        char text[300];
        const Coefficient is = value_at(found, matrix.scalar()), should = value_at(expected, matrix.scalar());
        snprintf(text, sizeof text,
                 "wrong result: (%lld, %lld) at %p is %.9g%+.9gi instead of %.9g%+.9gi, tolerance %.3g",
                 static_cast<long long>(i), static_cast<long long>(j), static_cast<void*>(found), is.real(), is.imag(),
                 should.real(), should.imag(), tolerance);
        fail(text);
      }
      set_value(expected, matrix.scalar(), value_at(found, matrix.scalar()));
    }
  }
}

}  // namespace coherence
