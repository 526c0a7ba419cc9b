#include "fft/reference_transform.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "fft/execution.h"
#include "operation/check_numbers.h"

namespace blastoff::fft {
namespace {

using operation::times;
using Number = std::complex<double>;
using Numbers = std::vector<Number>;

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

std::int64_t smallest_factor(std::int64_t n) {
  for (std::int64_t factor = 2; factor * factor <= n; ++factor)
    if (n % factor == 0) return factor;
  return n;
}

/// Transforms lines of one length (J. W. Cooley, J. W. Tukey, Math. Comp. 19 (1965) 297).
class Lines {
 public:
  Lines(std::int64_t length, int sign) : n_(length), roots_(index(length)), line_(index(length)), out_(index(length)) {
    for (std::int64_t k = 0; k < n_; ++k)
      roots_[index(k)] =
          std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n_));
  }

  /// The line to be transformed, which the caller fills.
  Numbers& line() { return line_; }
  const Numbers& transformed() {
    transform(line_.data(), 1, out_.data(), n_);
    return out_;
  }

 private:
  void transform(const Number* in, std::int64_t stride, Number* out, std::int64_t n) {
    if (n == 1) {
      *out = *in;
      return;
    }
    const std::int64_t p = smallest_factor(n);
    const std::int64_t m = n / p;
    for (std::int64_t r = 0; r < p; ++r) transform(in + r * stride, stride * p, out + r * m, m);
    const std::int64_t step = n_ / n;
    Numbers terms(index(p));
    for (std::int64_t k = 0; k < m; ++k) {
      for (std::int64_t r = 0; r < p; ++r) terms[index(r)] = times(out[r * m + k], roots_[index(r * k * step)]);
      for (std::int64_t q = 0; q < p; ++q) {
        Number sum = terms.front();
        for (std::int64_t r = 1; r < p; ++r) sum += times(terms[index(r)], roots_[index(r * q % p * (n_ / p))]);
        out[q * m + k] = sum;
      }
    }
  }

  std::int64_t n_;
  Numbers roots_;
  Numbers line_;
  Numbers out_;
};

/// Calls visit(in, out, number) for each step of the loops: the step's offsets in the two arrays, and its number.
template <class Visit>
void each_step(std::span<const Dimension> loops, std::int64_t in, std::int64_t out, std::int64_t& number,
               const Visit& visit) {
  if (loops.empty()) return visit(in, out, number++);
  const Dimension& loop = loops.front();
  for (std::int64_t i = 0; i < loop.length; ++i)
    each_step(loops.subspan(1), in + i * loop.in_stride, out + i * loop.out_stride, number, visit);
}

/// One transform: its lines of the last dimension, and a dense array of complex numbers, row-major.
template <class Real>
class OneTransform {
 public:
  OneTransform(const Request& request, std::span<const Dimension> dims, double factor)
      : request_(request), dims_(dims), factor_(factor) {
    const std::int64_t last = dims.back().length;
    line_ = request.kind == Kind::c2c ? last : last / 2 + 1;
    std::int64_t elements = line_;
    for (const Dimension& dimension : dims.first(dims.size() - 1)) elements *= dimension.length;
    values_.resize(index(elements));
  }

  void compute(const Real* in, Real* out) {
    Lines lines(dims_.back().length, request_.sign);
    const auto outer = dims_.first(dims_.size() - 1);
    std::int64_t number = 0;
    each_step(outer, 0, 0, number, [&](std::int64_t from, std::int64_t, std::int64_t row) {
      load(in, from, lines, values_.data() + row * line_);
    });
    std::int64_t inner = line_;
    for (std::size_t d = outer.size(); d-- > 0; inner *= outer[d].length) transform_along(outer[d].length, inner);
    number = 0;
    each_step(outer, 0, 0, number, [&](std::int64_t, std::int64_t to, std::int64_t row) {
      store(values_.data() + row * line_, lines, out, to);
    });
  }

 private:
  void load(const Real* in, std::int64_t from, Lines& lines, Number* row) {
    const std::int64_t stride = dims_.back().in_stride;
    const bool real = request_.kind == Kind::r2c;
    const bool whole = request_.kind == Kind::c2r;
    const std::int64_t count = whole ? line_ : dims_.back().length;
    for (std::int64_t i = 0; i < count; ++i) {
      const Real* const element = in + (real ? 1 : 2) * (from + i * stride);
      (whole ? row[i] : lines.line()[index(i)]) = real ? Number(*element) : Number(element[0], element[1]);
    }
    if (whole) return;
    const Numbers& transformed = lines.transformed();
    std::copy(transformed.begin(), transformed.begin() + line_, row);
  }

  void store(const Number* row, Lines& lines, Real* out, std::int64_t to) {
    const std::int64_t stride = dims_.back().out_stride;
    if (request_.kind != Kind::c2r) {
      for (std::int64_t i = 0; i < line_; ++i) {
        Real* const element = out + 2 * (to + i * stride);
        element[0] = static_cast<Real>(factor_ * row[i].real());
        element[1] = static_cast<Real>(factor_ * row[i].imag());
      }
      return;
    }
    const std::int64_t n = dims_.back().length;
    for (std::int64_t i = 0; i < n; ++i) lines.line()[index(i)] = i < line_ ? row[i] : std::conj(row[n - i]);
    lines.line().front() = row[0].real();
    if (n % 2 == 0) lines.line()[index(n / 2)] = row[n / 2].real();
    const Numbers& transformed = lines.transformed();
    for (std::int64_t i = 0; i < n; ++i)
      out[to + i * stride] = static_cast<Real>(factor_ * transformed[index(i)].real());
  }

  /// Transforms along a dimension whose elements are `inner` apart.
  void transform_along(std::int64_t length, std::int64_t inner) {
    Lines lines(length, request_.sign);
    const auto elements = static_cast<std::int64_t>(values_.size());
    for (std::int64_t block = 0; block < elements; block += length * inner)
      for (std::int64_t column = block; column < block + inner; ++column) {
        for (std::int64_t i = 0; i < length; ++i) lines.line()[index(i)] = values_[index(column + i * inner)];
        const Numbers& transformed = lines.transformed();
        for (std::int64_t i = 0; i < length; ++i) values_[index(column + i * inner)] = transformed[index(i)];
      }
  }

  const Request request_;
  const std::span<const Dimension> dims_;
  const double factor_;
  std::int64_t line_;  ///< complex numbers in a line
  Numbers values_;
};

template <class Real>
void compute_all(const operation::Operation& operation) {
  const Transform& transform = plan_of(operation).transform;
  const Layout layout = layout_of(operation);
  OneTransform<Real> one(transform.request, layout.dims.all(), transform.factor);
  const auto* const in = static_cast<const Real*>(input_of(operation).address);
  auto* const out = static_cast<Real*>(output_of(operation).address);
  std::int64_t number = 0;
  each_step(layout.batches.all(), 0, 0, number, [&](std::int64_t from, std::int64_t to, std::int64_t) {
    one.compute(in + (transform.real_input() ? 1 : 2) * from, out + (transform.real_output() ? 1 : 2) * to);
  });
}

}  // namespace

bool ReferenceTransform::can_compute(const operation::Operation& operation) const {
  return is_fft(operation) && !plan_of(operation).in_place();
}

bool ReferenceTransform::compute(const operation::Operation& operation) const {
  if (plan_of(operation).transform.request.precision == Precision::f32)
    compute_all<float>(operation);
  else
    compute_all<double>(operation);
  return true;
}

}  // namespace blastoff::fft
