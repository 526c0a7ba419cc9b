// Factorizations and solutions as the fake cuSOLVER and cuSOLVERMp make them.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <utility>

#include "device/cuda/cusolver/api.h"
#include "reference_blas.h"

namespace blastoff::fake_cuda {

using device::cuda::api::Size;
using reference::detail::conjugate;

/// Calls work(T{}) with the type that the code means.
template <class Work>
auto with_type(int type, const Work& work) {
  using namespace device::cuda::api;
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
  if (operation == device::cuda::api::operation_none) {
    for (Size i = 0; i < n; ++i) swap_rows(i);
    solve_triangle<T>(lower, true, b, n, columns);
    solve_triangle<T>(a, false, b, n, columns);
    return;
  }
  const auto transposed = [&](T value) {
    return operation == device::cuda::api::operation_conjugate ? conjugate(value) : value;
  };
  solve_triangle<T>([&](Size i, Size j) { return transposed(a(j, i)); }, true, b, n, columns);
  solve_triangle<T>([&](Size i, Size j) { return transposed(lower(j, i)); }, false, b, n, columns);
  for (Size i = n - 1; i >= 0; --i) swap_rows(i);
}

}  // namespace blastoff::fake_cuda
