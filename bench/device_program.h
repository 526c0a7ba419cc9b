// What the programs share that measure a device: errors end the program.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"

[[noreturn]] inline void fail(const std::string& message) {
  std::printf("%s\n", message.c_str());
  std::exit(1);
}
template <class T>
T need(blastoff::device::Result<T> result) {
  if (!result) fail(result.error().message);
  return std::move(*result);
}
inline void need(const blastoff::device::Status& status) {
  if (!status) fail(status.error().message);
}

inline double microseconds() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Host memory as malloc returns it: it begins 16 bytes after the start of a huge page.
inline double* host_matrix(std::size_t elements) {
  const std::size_t bytes = elements * sizeof(double) + (std::size_t{4} << 20);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, bytes, MADV_HUGEPAGE);
  auto* matrix = reinterpret_cast<double*>(static_cast<char*>(memory) + 16);
  for (std::size_t i = 0; i < elements; ++i) matrix[i] = static_cast<double>(i % 977) / 977;
  return matrix;
}
