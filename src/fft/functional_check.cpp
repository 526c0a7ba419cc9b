#include "fft/functional_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "fft/execution.h"
#include "fft/wave.h"
#include "fft/weighted_sums.h"
#include "operation/amounts.h"
#include "operation/check_numbers.h"

namespace blastoff::fft {
namespace {

using operation::Comparison;
using operation::Operand;
using operation::times;

constexpr double epsilon_of_sums = std::numeric_limits<double>::epsilon();

/// The loops of a transform, and the waves along them.
class Functionals {
 public:
  explicit Functionals(const Transform& transform) : transform_(transform) {
    std::mt19937_64 engine(operation::next_seed());
    const auto dims = transform.dims.all();
    const auto batches = transform.batches.all();
    for (const Dimension& dim : dims) waves_.emplace_back(dim.length, transform.request.sign, engine);
    for (const Dimension& batch : batches) waves_.emplace_back(batch.length, 1, engine);
    choose_parts();
  }

  std::int64_t parts() const { return apart_ ? loop(*apart_).length : 1; }
  /// Whether the parts of the result are a transform of the parts of the input.
  bool parts_are_transformed() const { return apart_ && is_dimension(*apart_); }
  std::int64_t part_stride_of_result() const { return apart_ ? loop(*apart_).out_stride : 0; }

  Side result(const void* address) const {
    const std::int64_t length = transform_.out_length(last());
    const bool halved = transform_.real_input();
    // The half that is not stored has the same squares.
    const auto share = [this, halved](std::int64_t k, Number) { return halved && !on_edge(k) ? 2.0 : 1.0; };
    Side side{address, !transform_.real_output(), 1, 0, {}, loop(last()).out_stride, line_of_weights(length, share)};
    add_loops(side, true, [this](std::size_t index, std::int64_t k) { return waves_[index].weight(k); });
    return side;
  }

  Side input(const void* address) const {
    const bool halved = transform_.real_input();
    const Wave& wave = waves_[last()];
    const auto weight = [this, halved, &wave](std::int64_t j) {
      if (transform_.real_output()) return wave.sum(j) * (on_edge(j) ? 0.5 : 1);
      return halved ? wave.half_sum(j) : wave.sum(j);
    };
    return input_side(address, weight, [this](std::size_t index, std::int64_t j) { return adjoint(index, j); });
  }

  /// For a spectrum of which half is stored. The sums of the other half are the conjugates of the sums with these
  /// weights, and belong to the opposite parts. An element on the edge counts half as stored and half as its own
  /// opposite. A component that contradicts its opposite is ignored, as FFTW does.
  Side opposite_input(const void* address) const {
    const Wave& wave = waves_[last()];
    const auto weight = [this, &wave](std::int64_t j) {
      return std::conj(wave.sum(opposite(j, loop(last()).length))) * (on_edge(j) ? 0.5 : 1);
    };
    return input_side(address, weight, [this](std::size_t index, std::int64_t j) {
      return std::conj(is_dimension(index) ? adjoint(index, opposite(j, loop(index).length)) : adjoint(index, j));
    });
  }

  /// The part to which the sums of the other half belong.
  std::int64_t opposite_part(std::int64_t part) const {
    return parts_are_transformed() ? opposite(part, parts()) : part;
  }

  /// Computes the functionals of the result from the functionals of the input.
  std::vector<Number> of_result(const std::vector<Number>& of_input) const {
    if (!parts_are_transformed()) return of_input;
    const std::int64_t n = parts();
    std::vector<Number> roots, result(of_input.size());
    for (std::int64_t k = 0; k < n; ++k)
      roots.push_back(std::polar(
          1.0, transform_.request.sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)));
    for (std::int64_t k = 0; k < n; ++k) {
      std::int64_t turn = 0;
      Number sum = 0;
      for (const Number part : of_input) {
        sum += times(part, roots[static_cast<std::size_t>(turn)]);
        turn += k;
        turn -= turn >= n ? n : 0;
      }
      result[static_cast<std::size_t>(k)] = sum;
    }
    return result;
  }

 private:
  static std::int64_t opposite(std::int64_t index, std::int64_t length) { return index == 0 ? 0 : length - index; }

  bool is_dimension(std::size_t index) const { return index < transform_.dims.size(); }
  std::size_t last() const { return transform_.dims.size() - 1; }
  const Dimension& loop(std::size_t index) const {
    return is_dimension(index) ? transform_.dims.all()[index]
                               : transform_.batches.all()[index - transform_.dims.size()];
  }

  /// Whether an element of a halved line is its own opposite.
  bool on_edge(std::int64_t k) const { return k == 0 || 2 * k == loop(last()).length; }

  /// Chooses the longest loop whose parts are cheap. The lines are never chosen.
  void choose_parts() {
    for (std::size_t i = 0; i < waves_.size(); ++i) {
      if (i == last()) continue;
      const auto length = static_cast<double>(loop(i).length);
      const bool cheap = is_dimension(i) ? length * length <= 2 * transform_.points() : length <= max_parts;
      if (cheap && length > static_cast<double>(parts())) apart_ = i;
    }
  }

  /// A loop of independent transforms has the same weights in input and output.
  Number adjoint(std::size_t index, std::int64_t j) const {
    return is_dimension(index) ? waves_[index].sum(j) : waves_[index].weight(j);
  }

  template <class Share>
  LineWeights line_of_weights(std::int64_t length, const Share& share) const {
    return {length, [this](std::int64_t k) { return waves_[last()].weight(k); }, share};
  }

  template <class Weight, class LoopWeight>
  Side input_side(const void* address, const Weight& weight, const LoopWeight& loop_weight) const {
    const auto share = [](std::int64_t, Number value) { return std::norm(value); };
    Side side{address,
              !transform_.real_input(),
              1,
              0,
              {},
              loop(last()).in_stride,
              LineWeights(transform_.in_length(last()), weight, share)};
    add_loops(side, false, loop_weight);
    return side;
  }

  template <class LoopWeight>
  void add_loops(Side& side, bool output, const LoopWeight& weight) const {
    for (std::size_t i = 0; i < waves_.size(); ++i) {
      if (i == last()) continue;
      const std::int64_t stride = output ? loop(i).out_stride : loop(i).in_stride;
      if (apart_ == i) {
        side.parts = loop(i).length;
        side.part_stride = stride;
        continue;
      }
      WeightedLoop weighted{stride, {}};
      for (std::int64_t k = 0; k < loop(i).length; ++k) weighted.weights.push_back(weight(i, k));
      side.loops.push_back(std::move(weighted));
    }
  }

  static constexpr double max_parts = 1 << 16;

  const Transform& transform_;
  std::vector<Wave> waves_;  ///< for the dimensions, then for the loops over independent transforms
  std::optional<std::size_t> apart_;
};

class FunctionalCheck final : public operation::Verification {
 public:
  explicit FunctionalCheck(const operation::Operation& operation)
      : transform_(plan_of(operation).transform),
        result_(output_of(operation)),
        workers_(platform::workers_to_read(operation::payload_bytes(operation.operands()))),
        functionals_(transform_) {
    const void* const input = input_of(operation).address;
    const std::vector<Sums> stored = read(functionals_.input(input), transform_.request.precision, workers_.get());
    squares_ = total(stored, &Sums::squares);
    for (const Sums& part : stored) {
      of_input_.push_back(part.weighted());
      shares_.push_back(part.shares.value());
    }
    if (transform_.real_output()) add_opposites(input);
    scale(transform_.factor);
  }

  Comparison compare() const override {
    const auto parts = read(functionals_.result(result_.address), transform_.request.precision, workers_.get());
    if (!in_range(total(parts, &Sums::squares))) return {};
    Comparison comparison{.checked = true};
    comparison.bound = 4 * epsilon() * std::max(1.0, std::log2(transform_.length()));
    compare_norms(total(parts, &Sums::shares), comparison);
    compare_functionals(parts, comparison);
    return comparison;
  }

 private:
  /// Adds the sums of the half of a spectrum that is not stored.
  void add_opposites(const void* input) {
    const Side side = functionals_.opposite_input(input);
    const std::vector<Sums> others = read(side, transform_.request.precision, workers_.get());
    for (std::size_t i = 0; i < others.size(); ++i) {
      const auto part = static_cast<std::size_t>(functionals_.opposite_part(static_cast<std::int64_t>(i)));
      of_input_[part] += std::conj(others[i].weighted());
      shares_[part] += others[i].shares.value();
    }
  }

  /// Makes the sums those of an input that is multiplied by the transform's factor: its result has the same sums.
  void scale(double factor) {
    for (Number& functional : of_input_) functional *= factor;
    for (double& share : shares_) share *= factor * factor;
    squares_ *= factor * factor;
  }

  bool narrow() const { return transform_.request.precision == Precision::f32; }
  double epsilon() const {
    return narrow() ? static_cast<double>(std::numeric_limits<float>::epsilon()) : epsilon_of_sums;
  }
  double largest() const {
    return narrow() ? static_cast<double>(std::numeric_limits<float>::max()) : std::numeric_limits<double>::max();
  }
  double least() const {
    return narrow() ? static_cast<double>(std::numeric_limits<float>::min()) : std::numeric_limits<double>::min();
  }

  /// Whether the squares and the numbers of the transform stay in their range. `squares`: sum over the result.
  bool in_range(double squares) const {
    const double norm = std::sqrt(2 * squares_ * transform_.length());
    // A device multiplies by the factor at the end.
    const double before = norm / std::min(1.0, std::abs(transform_.factor));
    if (!(before < 1e-3 * largest()) || squares_ > 1e270) return false;
    const double smallest = std::max(1e-135, least() / epsilon()) * std::sqrt(transform_.points());
    return norm > smallest || std::sqrt(squares) > smallest || std::isnan(squares);
  }

  static void add(Comparison& comparison, double error, std::int64_t row, std::int64_t column) {
    if (error <= comparison.relative_error) return;
    comparison.relative_error = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
    comparison.row = row;
    comparison.column = column;
  }

  /// Checks Parseval's identity. Not for a halved input: the squares of components that contradict their opposites are
  /// not known.
  void compare_norms(double squares, Comparison& comparison) const {
    if (transform_.real_output()) return;
    const double expected = std::sqrt(squares_ * transform_.length());
    add(comparison, std::abs(std::sqrt(squares) - expected) / (expected + least()), 0, 0);
  }

  /// Returns the norm of the numbers from which rounding errors come into a part. The errors come from all parts that
  /// it is computed from. A library may compute two independent transforms of real numbers as one complex transform.
  /// Numbers that are all zero may then become noise of the neighbour transform, as seen with cuFFT (not for every
  /// layout).
  double norm_of_sources(const std::vector<Sums>& parts, bool mixed) const {
    if (mixed) return std::sqrt(total(parts, &Sums::squares) / static_cast<double>(parts.size()));
    if (!transform_.real_input() && !transform_.real_output()) return 0;
    double largest = 0;
    for (const Sums& part : parts) largest = std::max(largest, part.squares.value());
    return std::sqrt(largest);
  }

  void compare_functionals(const std::vector<Sums>& parts, Comparison& comparison) const {
    const std::vector<Number> expected = functionals_.of_result(of_input_);
    const bool mixed = functionals_.parts_are_transformed();
    const double spread = norm_of_sources(parts, mixed);
    double all_shares = 0;
    for (const double share : shares_) all_shares += share;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      // The rounding errors of the functionals themselves.
      const double terms = std::sqrt(mixed ? all_shares : shares_[i]) + std::abs(expected[i]);
      const double scale =
          std::sqrt(parts[i].squares.value()) + spread + 4 * epsilon_of_sums / epsilon() * terms + least();
      const std::int64_t element = static_cast<std::int64_t>(i) * functionals_.part_stride_of_result() *
                                   static_cast<std::int64_t>(transform_.out_element_bytes()) /
                                   static_cast<std::int64_t>(result_.element_size);
      const std::int64_t rows = std::max<std::int64_t>(1, result_.leading_dimension);
      add(comparison, std::abs(parts[i].weighted() - expected[i]) / scale, element % rows, element / rows);
    }
  }

  const Transform transform_;
  const Operand result_;
  std::unique_ptr<platform::WorkerPool> workers_;
  const Functionals functionals_;
  std::vector<Number> of_input_;  ///< functionals of the input, one for each part
  std::vector<double> shares_;    ///< sums of the squares of the functionals' terms
  double squares_ = 0;            ///< sum over the input's elements
};

}  // namespace

std::unique_ptr<operation::Verification> check_by_functional(const operation::Operation& operation) {
  return std::make_unique<FunctionalCheck>(operation);
}

}  // namespace blastoff::fft
