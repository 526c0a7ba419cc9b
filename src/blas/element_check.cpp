#include "blas/element_check.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>

#include "blas/element.h"
#include "operation/check_numbers.h"

namespace blastoff::blas {
namespace {

using operation::Comparison;
using operation::times;
using Number = std::complex<double>;

/// Elements of double precision in a cache line: if they are neighbours, a row of the matrix is read one line at a
/// time.
constexpr std::int64_t max_elements = 8;

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> numbers{0};
  // Multiples of the golden ratio, modulo 1, are spread evenly. Here they are in units of 2^-64.
  return (numbers.fetch_add(1, std::memory_order_relaxed) + 1) * 0x9e3779b97f4a7c15U;
}

class ElementCheck final : public operation::Verification {
 public:
  explicit ElementCheck(const Call& call) : call_(call) {
    const std::int64_t all = call.result().columns;
    count_ = std::min(all, max_elements);
    const double where = static_cast<double>(next_number() >> 11) * 0x1p-53;
    first_ = static_cast<std::int64_t>(where * static_cast<double>(all - count_ + 1));
    if (reads(call.result().intent))
      for (std::int64_t i = 0; i < count_; ++i) before_[static_cast<std::size_t>(i)] = y(first_ + i);
  }

  Comparison compare() const override {
    std::array<Number, max_elements> sums{};
    std::array<double, max_elements> magnitudes{};
    for (std::int64_t j = 0; j < call_.k; ++j) {
      const Number factor = vector_element(call_.operands()[1], call_.reversed_x, j);
      for (std::int64_t i = 0; i < count_; ++i) {
        const Number product = times(a(first_ + i, j), factor);
        sums[static_cast<std::size_t>(i)] += product;
        magnitudes[static_cast<std::size_t>(i)] += std::abs(product);
      }
    }
    Comparison comparison;
    comparison.checked = true;
    comparison.bound = 8.0 * (static_cast<double>(call_.k) + 8) * machine_epsilon(call_.scalar());
    for (std::int64_t i = 0; i < count_; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const Number kept = reads(call_.result().intent) ? times(call_.beta, before_[at]) : Number(0);
      add(comparison, i, times(call_.alpha, sums[at]) + kept, std::abs(call_.alpha) * magnitudes[at] + std::abs(kept));
    }
    return comparison;
  }

 private:
  void add(Comparison& comparison, std::int64_t i, Number wanted, double scale) const {
    const Number got = y(first_ + i);
    if (!std::isfinite(scale) || scale > largest_scale()) return;  // the CPU's result may be infinite or NaN too
    const double difference = std::abs(got - wanted);
    double error = difference > 0 ? difference / (scale + min_scale()) : 0;
    if (std::isnan(difference)) error = HUGE_VAL;
    if (error <= comparison.relative_error) return;
    comparison.relative_error = error;
    comparison.column = first_ + i;
  }

  Number vector_element(const Operand& vector, bool reversed, std::int64_t i) const {
    const std::int64_t place = reversed ? vector.columns - 1 - i : i;
    return element(call_.scalar(),
                   static_cast<const char*>(vector.address) + static_cast<std::size_t>(place) * vector.stride_bytes());
  }
  Number y(std::int64_t i) const { return vector_element(call_.result(), call_.reversed_y, i); }

  Number stored(std::int64_t i, std::int64_t j) const {
    const Operand& matrix = call_.operands()[0];
    return element(call_.scalar(), static_cast<const char*>(matrix.address) +
                                       static_cast<std::size_t>(j) * matrix.stride_bytes() +
                                       static_cast<std::size_t>(i) * matrix.element_size);
  }

  /// An element of the matrix as the operation sees it.
  Number a(std::int64_t i, std::int64_t j) const {
    const bool hermitian = call_.kind() == Kind::hemv;
    if (call_.kind() == Kind::gemv) {
      if (call_.transpose_a == Transpose::none) return stored(i, j);
      return call_.transpose_a == Transpose::conjugate ? std::conj(stored(j, i)) : stored(j, i);
    }
    if (i == j) return hermitian ? stored(i, i).real() : stored(i, i);
    if ((call_.uplo == Uplo::upper) == (i < j)) return stored(i, j);
    return hermitian ? std::conj(stored(j, i)) : stored(j, i);
  }

  bool single() const { return call_.scalar() == Scalar::s || call_.scalar() == Scalar::c; }
  double largest_scale() const {
    return 1e-3 * (single() ? double{std::numeric_limits<float>::max()} : std::numeric_limits<double>::max());
  }
  /// Rounding errors of smaller results are absolute.
  double min_scale() const {
    return single() ? double{std::numeric_limits<float>::min()} : std::numeric_limits<double>::min();
  }

  Call call_;
  std::int64_t first_ = 0;
  std::int64_t count_ = 0;
  std::array<Number, max_elements> before_{};
};

}  // namespace

std::unique_ptr<operation::Verification> check_elements(const Call& call) {
  return std::make_unique<ElementCheck>(call);
}

}  // namespace blastoff::blas
