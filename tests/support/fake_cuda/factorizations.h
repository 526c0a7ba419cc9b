// Factorizations, solutions and eigenproblems as the fake cuSOLVER and cuSOLVERMp make them.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/gpu/cuda/cusolver/api.h"

namespace blastoff::fake_cuda {

using device::gpu::cuda::api::Size;

template <class T>
T conjugate(T value) {
  if constexpr (std::is_arithmetic_v<T>) return value;
  if constexpr (!std::is_arithmetic_v<T>) return std::conj(value);
}

/// Calls work(T{}) with the type that the code means.
template <class Work>
auto with_type(int type, const Work& work) {
  using namespace device::gpu::cuda::api;
  switch (type) {
    case type_real_32: return work(float{});
    case type_real_64: return work(double{});
    case type_complex_32: return work(std::complex<float>{});
    default: return work(std::complex<double>{});
  }
}

template <class T>
struct View {
  T* first;
  Size stride;
  T& operator()(Size i, Size j) const { return first[i + j * stride]; }
};

/// Computes L in a lower triangle, or U = L^H in an upper one. Returns the number of the first pivot that is not
/// positive.
template <class T>
int factor_cholesky(View<T> a, Size n, bool upper) {
  const auto element = [&](Size i, Size j) -> T& { return upper ? a(j, i) : a(i, j); };
  const auto value = [&](Size i, Size j) { return upper ? conjugate(a(j, i)) : a(i, j); };
  for (Size j = 0; j < n; ++j) {
    for (Size i = j; i < n; ++i) {
      T sum = value(i, j);
      for (Size k = 0; k < j; ++k) sum -= value(i, k) * conjugate(value(j, k));
      if (i == j && !(std::real(sum) > 0)) return static_cast<int>(j + 1);
      const T result = i == j ? T(std::sqrt(std::real(sum))) : sum / value(j, j);
      element(i, j) = upper ? conjugate(result) : result;
    }
  }
  return 0;
}

/// Solves with a triangle that is given by a function of the indices.
template <class T, class Element>
void solve_triangle(Element element, bool lower, View<T> b, Size n, Size columns) {
  for (Size column = 0; column < columns; ++column) {
    for (Size step = 0; step < n; ++step) {
      const Size i = lower ? step : n - 1 - step;
      T sum = b(i, column);
      for (Size k = lower ? 0 : i + 1; k < (lower ? i : n); ++k) sum -= element(i, k) * b(k, column);
      b(i, column) = sum / element(i, i);
    }
  }
}

template <class T>
void solve_cholesky(View<T> a, Size n, bool upper, View<T> b, Size columns) {
  const auto factor = [&](Size i, Size j) { return upper ? conjugate(a(j, i)) : a(i, j); };
  solve_triangle<T>(factor, true, b, n, columns);
  solve_triangle<T>([&](Size i, Size j) { return conjugate(factor(j, i)); }, false, b, n, columns);
}

/// As LAPACK compares elements.
template <class T>
auto magnitude(const T& element) {
  return std::abs(std::real(element)) + std::abs(std::imag(element));
}

template <class T>
int factor_lu(View<T> a, Size m, Size n, std::int64_t* pivots) {
  int info = 0;
  for (Size j = 0; j < std::min(m, n); ++j) {
    Size pivot = j;
    for (Size i = j; i < m; ++i)
      if (magnitude(a(i, j)) > magnitude(a(pivot, j))) pivot = i;
    pivots[j] = pivot + 1;
    if (a(pivot, j) == T{}) {
      if (info == 0) info = static_cast<int>(j + 1);
      continue;
    }
    for (Size k = 0; k < n; ++k) std::swap(a(j, k), a(pivot, k));
    for (Size i = j + 1; i < m; ++i) {
      a(i, j) /= a(j, j);
      for (Size k = j + 1; k < n; ++k) a(i, k) -= a(i, j) * a(j, k);
    }
  }
  return info;
}

template <class T>
void solve_lu(View<T> a, Size n, const std::int64_t* pivots, int operation, View<T> b, Size columns) {
  const auto swap_rows = [&](Size i) {
    for (Size column = 0; column < columns; ++column) std::swap(b(i, column), b(pivots[i] - 1, column));
  };
  const auto lower = [&](Size i, Size j) { return i == j ? T{1} : a(i, j); };
  if (operation == device::gpu::cuda::api::operation_none) {
    for (Size i = 0; i < n; ++i) swap_rows(i);
    solve_triangle<T>(lower, true, b, n, columns);
    solve_triangle<T>(a, false, b, n, columns);
    return;
  }
  const auto transposed = [&](T value) {
    return operation == device::gpu::cuda::api::operation_conjugate ? conjugate(value) : value;
  };
  solve_triangle<T>([&](Size i, Size j) { return transposed(a(j, i)); }, true, b, n, columns);
  solve_triangle<T>([&](Size i, Size j) { return transposed(lower(j, i)); }, false, b, n, columns);
  for (Size i = n - 1; i >= 0; --i) swap_rows(i);
}

/// The eigenvalues of a Hermitian matrix, of which one triangle is read, in ascending order, and its eigenvectors in
/// place of the matrix if they are wanted: by Jacobi's rotations.
template <class T, class Real>
void solve_hermitian(View<T> a, Size n, bool upper, bool with_vectors, Real* values) {
  using Number = std::conditional_t<std::is_floating_point_v<T>, double, std::complex<double>>;
  std::vector<Number> memory(static_cast<std::size_t>(2 * n * n));
  const View<Number> h{memory.data(), n};
  const View<Number> v{memory.data() + n * n, n};
  double whole = 0;
  for (Size j = 0; j < n; ++j) {
    v(j, j) = 1;
    for (Size i = 0; i < n; ++i) {
      const bool stored = upper ? i <= j : i >= j;
      h(i, j) = i == j ? Number(std::real(a(i, i))) : stored ? Number(a(i, j)) : conjugate(Number(a(j, i)));
      whole += std::norm(h(i, j));
    }
  }
  const auto combine = [n](const auto& p, const auto& q, double c, double s, Number phase) {
    for (Size i = 0; i < n; ++i) {
      const Number first = p(i);
      const Number second = phase * q(i);
      p(i) = c * first - s * second;
      q(i) = s * first + c * second;
    }
  };
  const auto column = [](const View<Number>& of, Size j) { return [&of, j](Size i) -> Number& { return of(i, j); }; };
  const auto row = [](const View<Number>& of, Size i) { return [&of, i](Size j) -> Number& { return of(i, j); }; };
  for (double rest = whole; rest > 1e-26 * whole;) {  // before the last pass, which leaves its square
    rest = 0;
    for (Size q = 0; q < n; ++q) {
      for (Size p = 0; p < q; ++p) {
        const double size = std::abs(h(p, q));
        rest += 2 * size * size;
        if (size == 0) continue;
        const Number phase = h(p, q) / size;
        const double tau = (std::real(h(q, q)) - std::real(h(p, p))) / (2 * size);
        const double t = (tau < 0 ? -1 : 1) / (std::abs(tau) + std::sqrt(1 + tau * tau));
        const double c = 1 / std::sqrt(1 + t * t);
        combine(column(h, p), column(h, q), c, t * c, conjugate(phase));
        combine(row(h, p), row(h, q), c, t * c, phase);
        if (with_vectors) combine(column(v, p), column(v, q), c, t * c, conjugate(phase));
      }
    }
  }
  std::vector<Size> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](Size j) { return std::real(h(j, j)); });
  for (Size j = 0; j < n; ++j) {
    const Size from = order[static_cast<std::size_t>(j)];
    values[j] = static_cast<Real>(std::real(h(from, from)));
    for (Size i = 0; i < n && with_vectors; ++i) a(i, j) = static_cast<T>(v(i, from));
  }
}

}  // namespace blastoff::fake_cuda
