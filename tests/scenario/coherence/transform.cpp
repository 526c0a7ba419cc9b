// Chooses and checks transforms by FFTW on parts of matrices.
#include <stdio.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "dense.h"
#include "player.h"

namespace coherence {
namespace {

using blas::Scalar;

/// The type of the numbers on the other side of a real transform.
Scalar other_side(Scalar scalar) {
  switch (scalar) {
    case Scalar::s: return Scalar::c;
    case Scalar::d: return Scalar::z;
    case Scalar::c: return Scalar::s;
    case Scalar::z: return Scalar::d;
  }
  return scalar;
}

/// One loop over the elements of a box. A halved dimension has the same steps and a smaller length.
struct Loop {
  std::int64_t length;
  std::int64_t row_step;
  std::int64_t column_step;
};

struct Loops {
  std::vector<Loop> dims;
  std::vector<Loop> batches;
};

Loops loops_of(Transform::Shape shape, std::int64_t rows, std::int64_t columns) {
  switch (shape) {
    case Transform::Shape::columns: return {{{rows, 1, 0}}, {{columns, 0, 1}}};
    case Transform::Shape::rows: return {{{columns, 0, 1}}, {{rows, 1, 0}}};
    case Transform::Shape::every_other: return {{{(rows + 1) / 2, 2, 0}}, {}};
    case Transform::Shape::plane: return {{{columns, 0, 1}, {rows, 1, 0}}, {}};
    case Transform::Shape::space: break;
  }
  std::int64_t inner = 1;
  for (std::int64_t divisor = 2; divisor * divisor <= columns; ++divisor)
    if (columns % divisor == 0) inner = divisor;
  return {{{columns / inner, 0, inner}, {inner, 0, 1}, {rows, 1, 0}}, {}};
}

std::int64_t halved(std::int64_t length) {
  return length / 2 + 1;
}

/// Changes loops over the real side of a real transform to loops over its complex side.
void halve(Loops& loops) {
  loops.dims.back().length = halved(loops.dims.back().length);
}

/// Calls visit(index, row, column) for each element of each dimension, the last one fastest.
template <class Visit>
void each_element(const std::vector<Loop>& dims, const Visit& visit) {
  std::int64_t count = 1;
  for (const Loop& dim : dims) count *= dim.length;
  for (std::int64_t index = 0; index < count; ++index) {
    std::int64_t rest = index, row = 0, column = 0;
    for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d].length) {
      row += rest % dims[d].length * dims[d].row_step;
      column += rest % dims[d].length * dims[d].column_step;
    }
    visit(static_cast<std::size_t>(index), row, column);
  }
}

/// Computes the transform by its definition, one dimension after the other.
void transform_lines(std::vector<Coefficient>& data, const std::vector<Loop>& dims, int sign) {
  std::size_t inner = data.size(), outer = 1;
  for (const Loop& dim : dims) {
    const auto n = static_cast<std::size_t>(dim.length);
    inner /= n;
    std::vector<Coefficient> roots(n), line(n);
    for (std::size_t k = 0; k < n; ++k)
      roots[k] = std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
    for (std::size_t o = 0; o < outer; ++o)
      for (std::size_t i = 0; i < inner; ++i) {
        for (std::size_t k = 0; k < n; ++k) {
          line[k] = 0;
          for (std::size_t j = 0; j < n; ++j) line[k] += data[(o * n + j) * inner + i] * roots[j * k % n];
        }
        for (std::size_t k = 0; k < n; ++k) data[(o * n + k) * inner + i] = line[k];
      }
    outer *= n;
  }
}

/// Computes the numbers of a real transform's spectrum that are not stored.
void complete_spectrum(std::vector<Coefficient>& line, std::size_t length) {
  const std::size_t stored = line.size();
  line.resize(length);
  for (std::size_t k = stored; k < length; ++k) line[k] = std::conj(line[length - k]);
}

std::vector<TransformLoop> strides_of(const std::vector<Loop>& loops, const Matrix& in, const Matrix& out) {
  std::vector<TransformLoop> result;
  for (const Loop& loop : loops) {
    const auto stride = [&](const Matrix& matrix) {
      return static_cast<int>(loop.row_step + loop.column_step * matrix.leading_dimension());
    };
    result.push_back({static_cast<int>(loop.length), stride(in), stride(out)});
  }
  return result;
}

}  // namespace

bool Player::plan_transform(Transform& plan, Matrix* by_all) {
  const Scalar input =
      by_all != nullptr ? by_all->scalar() : random_.pick({Scalar::s, Scalar::d, Scalar::c, Scalar::z});
  const bool real = !blas::is_complex(input);
  plan.kind = real                                     ? TransformKind::r2c
              : by_all == nullptr && random_.one_in(3) ? TransformKind::c2r
                                                       : TransformKind::c2c;
  plan.sign = plan.kind == TransformKind::r2c ? -1 : plan.kind == TransformKind::c2r ? 1 : random_.pick({-1, 1});
  const bool lines = plan.kind != TransformKind::c2c;
  using Shape = Transform::Shape;
  plan.shape = lines ? random_.pick({Shape::columns, Shape::rows, Shape::every_other})
                     : random_.pick({Shape::columns, Shape::rows, Shape::every_other, Shape::plane, Shape::space});
  const auto any = [&](Scalar scalar) {
    std::vector<Matrix*> candidates;
    for (const auto& matrix : matrices_)
      if (matrix->scalar() == scalar) candidates.push_back(matrix.get());
    return candidates[random_.below(candidates.size())];
  };
  plan.matrices = {by_all != nullptr ? by_all : any(input), any(lines ? other_side(input) : input)};
  plan.by_all = by_all != nullptr ? by_all->identity() : 0;
  plan.in_place = !lines && by_all == nullptr && random_.one_in(2);
  if (plan.in_place) plan.matrices[1] = plan.matrices[0];

  const Matrix &in = *plan.matrices[0], &out = *plan.matrices[1];
  const bool dense = plan.shape == Shape::space && random_.one_in(2);
  const std::int64_t max_rows = std::min(in.rows(), out.rows()), max_columns = std::min(in.columns(), out.columns());
  const auto choose = [&](std::int64_t most) { return random_.between(1, std::min(most, options_.max_size)); };
  const std::int64_t rows = dense && in.rows() == out.rows() ? in.rows() : choose(max_rows);
  const std::int64_t columns = plan.shape == Shape::every_other ? 1 : choose(max_columns);
  const Loops loops = loops_of(plan.shape, rows, columns);
  std::int64_t points = 1;
  for (const Loop& dim : loops.dims) points *= dim.length;
  if (points < 2) return false;
  const Box whole{0, 0, rows, columns};
  plan.boxes = {whole, whole};
  if (!choose_places(plan.matrices.data(), plan.boxes.data(), plan.in_place ? 1 : 2)) return false;
  if (plan.in_place) plan.boxes[1] = plan.boxes[0];
  return true;
}

void Player::transform_step() {
  if (!has_fftw()) return;
  CommonMatrix* common = nullptr;
  std::shared_lock<std::shared_mutex> lock;
  if (!in_child_ && random_.one_in(4)) {
    common = &common_.read_by_all[random_.below(4)];
    lock = std::shared_lock(common->lock);
  }
  if (!recent_transforms_.empty() && !random_.one_in(3)) {
    Transform& plan = recent_transforms_[random_.below(recent_transforms_.size())];
    if (plan.by_all == 0 || (common != nullptr && common->matrix->identity() == plan.by_all)) return run(plan);
  }
  Transform plan;
  if (!plan_transform(plan, common != nullptr ? common->matrix.get() : nullptr)) return;
  run(plan);
  if (recent_transforms_.size() == kept_plans) recent_transforms_.erase(recent_transforms_.begin());
  recent_transforms_.push_back(plan);
}

void Player::run(Transform& plan) {
  Matrix &in = *plan.matrices[0], &out = *plan.matrices[1];
  const Box &from = plan.boxes[0], &to = plan.boxes[1];
  char text[200];
  snprintf(text, sizeof text,
           "transform of kind %d, shape %d, sign %d, %lld x %lld, from %s %llu at (%lld, %lld) to %s %llu",
           static_cast<int>(plan.kind), static_cast<int>(plan.shape), plan.sign, static_cast<long long>(from.rows),
           static_cast<long long>(from.columns), describe(in.storage()), static_cast<unsigned long long>(in.identity()),
           static_cast<long long>(from.row), static_cast<long long>(from.column), describe(out.storage()),
           static_cast<unsigned long long>(out.identity()));
  doing_ = text;
  const Loops loops = loops_of(plan.shape, from.rows, from.columns);
  if (!plan.fftw) {
    const TransformLayout layout{plan.kind, is_single(in.scalar()), plan.sign, strides_of(loops.dims, in, out),
                                 strides_of(loops.batches, in, out)};
    plan.fftw = std::make_shared<FftwPlan>(layout, in.element(from.row, from.column), out.element(to.row, to.column));
  }
  Loops in_loops = loops, out_loops = loops;
  if (plan.kind == TransformKind::c2r) halve(in_loops);
  if (plan.kind == TransformKind::r2c) halve(out_loops);
  if (plan.kind == TransformKind::c2r) {
    // The first number of a real transform's spectrum is real, and so is the middle one if the length is even.
    const Loop& line = in_loops.dims.back();
    each_element(loops.batches, [&](std::size_t, std::int64_t row, std::int64_t column) {
      for (const std::int64_t k : {std::int64_t{0}, loops.dims.back().length / 2}) {
        if (k > 0 && loops.dims.back().length % 2 != 0) continue;
        const std::int64_t i = from.row + row + k * line.row_step, j = from.column + column + k * line.column_step;
        put(in, i, j, value_at(in.shadow_element(i, j), in.scalar()).real());
      }
    });
  }
  std::vector<std::vector<Coefficient>> expected;
  double norm = 0;
  each_element(loops.batches, [&](std::size_t, std::int64_t row, std::int64_t column) {
    std::vector<Coefficient> data;
    each_element(in_loops.dims, [&](std::size_t, std::int64_t i, std::int64_t j) {
      data.push_back(value_at(in.shadow_element(from.row + row + i, from.column + column + j), in.scalar()));
    });
    if (plan.kind == TransformKind::c2r) complete_spectrum(data, static_cast<std::size_t>(loops.dims.back().length));
    double squares = 0;
    for (const Coefficient& number : data) squares += std::norm(number);
    norm = std::max(norm, std::sqrt(squares));
    transform_lines(data, loops.dims, plan.sign);
    expected.push_back(data);
  });

  plan.fftw->execute(in.element(from.row, from.column), out.element(to.row, to.column));
  ++transforms_;

  const double points = static_cast<double>(expected.front().size());
  const double relative = 16 * machine_epsilon(out.scalar()) * (std::log2(points) + 1);
  each_element(loops.batches, [&](std::size_t batch, std::int64_t row, std::int64_t column) {
    each_element(out_loops.dims, [&](std::size_t index, std::int64_t i, std::int64_t j) {
      const Box place{to.row + row + i, to.column + column + j, 1, 1};
      const Coefficient is = value_at(out.element(place.row, place.column), out.scalar());
      Coefficient should = expected[batch][index];
      if (plan.kind == TransformKind::c2r) should = should.real();
      // All of the result may be one number.
      const double tolerance = relative * (norm + std::abs(should)) + min_normal(out.scalar());
      if (!(std::abs(is - should) <= tolerance)) {
        char what[200];
        snprintf(what, sizeof what, "wrong result: (%lld, %lld) is %.9g%+.9gi instead of %.9g%+.9gi, tolerance %.3g",
                 static_cast<long long>(place.row), static_cast<long long>(place.column), is.real(), is.imag(),
                 should.real(), should.imag(), tolerance);
        fail(what);
      }
      out.adopt(place);
    });
  });
  check(in, "the input, after");
  check(out, "beside the result of");
  if (random_.one_in(2)) multiply_by(out, to);
  renew(out, to);
}

}  // namespace coherence
