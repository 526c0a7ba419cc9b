// Matrices for tests that check every byte: they lie between inaccessible pages, are surrounded by a pattern, and all
// bytes can be copied.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "blas/call.h"
#include "element.h"
#include "platform/span.h"

namespace blastoff::test {

/// The end at which the matrix touches an inaccessible page.
enum class Edge { first_element, last_element };

/// Private anonymous pages between two inaccessible ones, filled with a pattern.
class GuardedPages {
 public:
  explicit GuardedPages(std::size_t bytes) : page_(platform::page_size()), bytes_((bytes + page_ - 1) / page_ * page_) {
    void* all = mmap(nullptr, bytes_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) std::abort();
    begin_ = static_cast<char*>(all) + page_;
    if (mprotect(begin_, bytes_, PROT_READ | PROT_WRITE) != 0) std::abort();
    std::memset(begin_, 0x5A, bytes_);
  }
  ~GuardedPages() { munmap(begin_ - page_, bytes_ + 2 * page_); }
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;

  char* begin() const { return begin_; }
  char* end() const { return begin_ + bytes_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t page_;
  std::size_t bytes_;
  char* begin_;
};

class GuardedMatrix {
 public:
  GuardedMatrix(blas::Scalar scalar, std::int64_t rows, std::int64_t columns, std::int64_t leading_dimension, Edge edge)
      : scalar_(scalar),
        rows_(rows),
        columns_(columns),
        leading_dimension_(leading_dimension),
        pages_(std::max<std::size_t>(1, span_bytes())),
        first_(edge == Edge::first_element ? pages_.begin() : pages_.end() - span_bytes()) {}

  void* address() const { return first_; }
  std::int64_t leading_dimension() const { return leading_dimension_; }
  const GuardedPages& pages() const { return pages_; }
  char* element(std::int64_t row, std::int64_t column) const {
    return first_ + static_cast<std::size_t>(row + column * leading_dimension_) * blas::element_size(scalar_);
  }

  std::size_t span_bytes() const {
    if (rows_ == 0 || columns_ == 0) return 0;
    return static_cast<std::size_t>((columns_ - 1) * leading_dimension_ + rows_) * blas::element_size(scalar_);
  }

  /// Small integers, whose products and sums are exact in every element type and in any order.
  template <class Engine>
  void fill(Engine& engine) {
    for (std::int64_t j = 0; j < columns_; ++j) {
      for (std::int64_t i = 0; i < rows_; ++i) set(i, j, random_integer(engine), random_integer(engine));
    }
  }

  /// A triangle with which a solve neither overflows nor rounds: ones on the diagonal, and few other elements.
  template <class Engine>
  void fill_for_solve(Engine& engine) {
    for (std::int64_t j = 0; j < columns_; ++j) {
      for (std::int64_t i = 0; i < rows_; ++i) {
        const bool beside = engine() % 16 == 0 && (i % 4 == 0) != (j % 4 == 0);
        set(i, j, i == j ? (engine() % 2 == 0 ? 1 : -1) : beside ? 1 : 0, 0);
      }
    }
  }

  void fill_with_nan() {
    for (std::int64_t j = 0; j < columns_; ++j) {
      for (std::int64_t i = 0; i < rows_; ++i) set(i, j, std::nan(""), std::nan(""));
    }
  }

  void set(std::int64_t row, std::int64_t column, double real, double imaginary) {
    write_element(scalar_, element(row, column), {real, imaginary});
  }

  /// A copy of all bytes between the inaccessible pages.
  std::vector<char> bytes() const { return {pages_.begin(), pages_.end()}; }
  void restore(const std::vector<char>& bytes) { std::memcpy(pages_.begin(), bytes.data(), bytes.size()); }
  /// Where the first element lies in such a copy.
  std::size_t offset() const { return static_cast<std::size_t>(first_ - pages_.begin()); }

 private:
  template <class Engine>
  static double random_integer(Engine& engine) {
    return static_cast<double>(engine() % 5) - 2;
  }

  blas::Scalar scalar_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t leading_dimension_;
  GuardedPages pages_;
  char* first_;
};

}  // namespace blastoff::test
