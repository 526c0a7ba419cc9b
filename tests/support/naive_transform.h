// The discrete Fourier transform, computed by its definition, for any layout.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fft/transform.h"

namespace blastoff::test {

/// Calls visit(logical index, offset in elements) for the elements of one transform on one side.
template <class Visit>
void each_element(const fft::Transform& transform, bool output, std::int64_t base, const Visit& visit) {
  const auto dims = transform.dims.all();
  const auto points = static_cast<std::int64_t>(transform.length());
  for (std::int64_t index = 0; index < points; ++index) {
    std::int64_t rest = index;
    std::int64_t offset = base;
    bool present = true;
    for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d].length) {
      const std::int64_t i = rest % dims[d].length;
      present = present && i < (output ? transform.out_length(d) : transform.in_length(d));
      offset += i * (output ? dims[d].out_stride : dims[d].in_stride);
    }
    if (present) visit(static_cast<std::size_t>(index), offset);
  }
}

/// Calls visit(input offset, output offset) for each batch.
template <class Visit>
void each_batch(const fft::Transform& transform, const Visit& visit) {
  const auto batches = transform.batches.all();
  std::int64_t count = 1;
  for (const fft::Dimension& batch : batches) count *= batch.length;
  for (std::int64_t index = 0; index < count; ++index) {
    std::int64_t rest = index;
    std::int64_t in = 0;
    std::int64_t out = 0;
    for (const fft::Dimension& batch : batches) {
      in += rest % batch.length * batch.in_stride;
      out += rest % batch.length * batch.out_stride;
      rest /= batch.length;
    }
    visit(in, out);
  }
}

using Tensor = std::vector<std::complex<double>>;

inline Tensor transformed(const Tensor& data, const fft::Transform& transform, int sign) {
  const auto dims = transform.dims.all();
  Tensor result = data;
  std::size_t inner = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    const auto n = static_cast<std::size_t>(dims[d].length);
    Tensor next(result.size());
    for (std::size_t index = 0; index < result.size(); ++index) {
      const std::size_t k = index / inner % n;
      for (std::size_t j = 0; j < n; ++j)
        next[index] += result[index + j * inner - k * inner] *
                       std::polar(1.0, sign * 2 * M_PI * static_cast<double>(j * k % n) / static_cast<double>(n));
    }
    result = next;
    inner *= n;
  }
  return result;
}

/// Adds the other half of a halved spectrum: each element is the conjugate of the element at the opposite index.
inline void complete(Tensor& spectrum, const fft::Transform& transform) {
  const auto dims = transform.dims.all();
  for (std::size_t index = 0; index < spectrum.size(); ++index) {
    std::size_t rest = index;
    std::size_t opposite = 0;
    std::size_t inner = 1;
    bool halved = false;
    for (std::size_t d = dims.size(); d-- > 0;) {
      const auto n = static_cast<std::size_t>(dims[d].length);
      const std::size_t i = rest % n;
      if (d + 1 == dims.size()) halved = i > n / 2;
      opposite += (n - i) % n * inner;
      inner *= n;
      rest /= n;
    }
    if (halved) spectrum[index] = std::conj(spectrum[opposite]);
  }
}

/// Reads all input of a batch before it writes a result of that batch.
template <class Real>
void naive_transform_of(const fft::Transform& transform, const Real* in, Real* out) {
  each_batch(transform, [&](std::int64_t in_base, std::int64_t out_base) {
    Tensor data(static_cast<std::size_t>(transform.length()));
    each_element(transform, false, in_base, [&](std::size_t index, std::int64_t offset) {
      const auto real = [&](std::int64_t word) { return static_cast<double>(in[word]); };
      data[index] = transform.real_input() ? std::complex<double>(real(offset), 0)
                                           : std::complex<double>(real(2 * offset), real(2 * offset + 1));
    });
    if (transform.real_output()) complete(data, transform);
    Tensor result = transformed(data, transform, transform.request.sign);
    for (std::complex<double>& number : result) number *= transform.factor;
    each_element(transform, true, out_base, [&](std::size_t index, std::int64_t offset) {
      if (transform.real_output()) {
        out[offset] = static_cast<Real>(result[index].real());
      } else {
        out[2 * offset] = static_cast<Real>(result[index].real());
        out[2 * offset + 1] = static_cast<Real>(result[index].imag());
      }
    });
  });
}

inline void naive_transform(const fft::Transform& transform, const void* in, void* out) {
  if (transform.request.precision == fft::Precision::f64)
    naive_transform_of(transform, static_cast<const double*>(in), static_cast<double*>(out));
  else
    naive_transform_of(transform, static_cast<const float*>(in), static_cast<float*>(out));
}

}  // namespace blastoff::test
