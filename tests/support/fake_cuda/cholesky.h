// Cholesky's factorization, column by column, as the fake cuSOLVER and cuSOLVERMp make it.
#pragma once

#include <cmath>

#include "device/cuda/cusolver/api.h"
#include "reference_blas.h"

namespace blastoff::fake_cuda {

using device::cuda::api::Size;
using reference::detail::conjugate;

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

}  // namespace blastoff::fake_cuda
