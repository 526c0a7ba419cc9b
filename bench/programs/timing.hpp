// The clock and the median of benchmarks in C++.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

inline double seconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The median of at least one value; if two are in the middle, the larger one.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
