#include "fft/verification.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "fft/execution.h"

namespace blastoff::fft {
namespace {

using operation::Operand;

/// A copy of an operand's elements, with the same leading dimension.
class Copy {
 public:
  explicit Copy(const Operand& operand) : operand_(operand), memory_(operand.span_bytes()) {
    operand_.address = memory_.data();
    if (!operation::reads(operand.intent)) return;
    for (std::int64_t column = 0; column < operand.columns; ++column) {
      const std::size_t offset = static_cast<std::size_t>(column) * operand.stride_bytes();
      std::memcpy(memory_.data() + offset, static_cast<const char*>(operand.address) + offset, operand.column_bytes());
    }
  }

  const Operand& operand() const { return operand_; }

 private:
  Operand operand_;
  std::vector<char> memory_;
};

struct Sums {
  double error = 0;
  double norm = 0;
  double largest = -1;
  std::int64_t position = 0;  ///< position of the largest error, in real numbers
};

/// The real numbers that the transform writes, loop by loop.
class Results {
 public:
  explicit Results(const Transform& transform) : words_(transform.real_output() ? 1 : 2) {
    for (std::size_t i = 0; i < transform.dims.size(); ++i)
      loops_.push_back({transform.out_length(i), transform.dims.all()[i].out_stride});
    for (const Dimension& batch : transform.batches.all()) loops_.push_back({batch.length, batch.out_stride});
  }

  template <class Visit>
  void each(const Visit& visit) const {
    each_of(0, 0, visit);
  }

 private:
  struct Loop {
    std::int64_t length;
    std::int64_t stride;
  };

  template <class Visit>
  void each_of(std::size_t loop, std::int64_t offset, const Visit& visit) const {
    if (loop == loops_.size()) {
      for (std::int64_t word = 0; word < words_; ++word) visit(words_ * offset + word);
      return;
    }
    for (std::int64_t i = 0; i < loops_[loop].length; ++i) each_of(loop + 1, offset + i * loops_[loop].stride, visit);
  }

  std::vector<Loop> loops_;
  std::int64_t words_;
};

template <class Real>
Sums compare(const Transform& transform, const void* result, const void* reference) {
  const auto* const found = static_cast<const Real*>(result);
  const auto* const right = static_cast<const Real*>(reference);
  Sums sums;
  Results(transform).each([&](std::int64_t position) {
    const double expected = right[position];
    const double error = found[position] - expected;
    sums.error += error * error;
    sums.norm += expected * expected;
    if (!(std::abs(error) <= sums.largest)) {
      sums.largest = std::abs(error);
      sums.position = position;
    }
  });
  return sums;
}

class TransformVerification final : public operation::Verification {
 public:
  TransformVerification(const operation::Operation& operation, const operation::Host& host)
      : transform_(plan_of(operation).transform), result_(output_of(operation)) {
    if (!host.can_compute(operation)) return;
    operation::Operation made_again = operation;
    copies_.reserve(operation.operands().size());
    for (Operand& operand : made_again.operands()) {
      copies_.emplace_back(operand);
      operand = copies_.back().operand();
    }
    computed_ = host.compute(made_again);
  }

  operation::Comparison compare() const override {
    if (!computed_) return {};
    const bool narrow = transform_.real_bytes() == sizeof(float);
    const void* const reference = copies_.back().operand().address;
    const Sums sums = narrow ? fft::compare<float>(transform_, result_.address, reference)
                             : fft::compare<double>(transform_, result_.address, reference);
    if (!std::isfinite(sums.norm)) return {};
    const double epsilon =
        narrow ? double{std::numeric_limits<float>::epsilon()} : std::numeric_limits<double>::epsilon();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    operation::Comparison comparison{.checked = true};
    comparison.bound = 16 * epsilon * std::max(1.0, std::log2(transform_.length()));
    comparison.relative_error = std::sqrt(sums.error) / std::max(std::sqrt(sums.norm), smallest_norm(narrow) / epsilon);
    if (std::isnan(comparison.relative_error)) comparison.relative_error = infinity;
    const auto element = sums.position * static_cast<std::int64_t>(transform_.real_bytes()) /
                         static_cast<std::int64_t>(result_.element_size);
    comparison.row = element % std::max<std::int64_t>(1, result_.leading_dimension);
    comparison.column = element / std::max<std::int64_t>(1, result_.leading_dimension);
    return comparison;
  }

 private:
  /// The norm of what is lost if a device takes every number below the least normal one for zero, as cuFFT does.
  double smallest_norm(bool narrow) const {
    const double least = narrow ? double{std::numeric_limits<float>::min()} : std::numeric_limits<double>::min();
    return least * std::sqrt(transform_.points() * transform_.length()) * std::max(1.0, std::abs(transform_.factor));
  }

  const Transform transform_;
  const Operand result_;
  std::vector<Copy> copies_;  ///< of the operands; they receive the CPU's result
  bool computed_ = false;
};

}  // namespace

std::unique_ptr<operation::Verification> verify(const operation::Operation& operation, const operation::Host& host) {
  return std::make_unique<TransformVerification>(operation, host);
}

}  // namespace blastoff::fft
