#include "matrix.h"

#include <stdio.h>
#include <string.h>

#include <atomic>
#include <limits>

namespace coherence {
namespace {
std::atomic<std::uint64_t> identities{0};
}

Matrix::Matrix(Buffer buffer, blas::Scalar scalar, std::int64_t rows, std::int64_t columns,
               std::int64_t leading_dimension)
    : buffer_(buffer),
      scalar_(scalar),
      rows_(rows),
      columns_(columns),
      leading_dimension_(leading_dimension),
      shadow_(static_cast<char*>(private_pages(column_bytes() * static_cast<std::size_t>(columns)))),
      identity_(++identities) {}

Matrix::~Matrix() {
  free_private_pages(shadow_, column_bytes() * static_cast<std::size_t>(columns_));
  release(buffer_);
}

char* Matrix::element(std::int64_t row, std::int64_t column) const {
  return buffer_.data + static_cast<std::size_t>(row + column * leading_dimension_) * element_size();
}

char* Matrix::shadow_element(std::int64_t row, std::int64_t column) const {
  return shadow_ + static_cast<std::size_t>(row + column * rows_) * element_size();
}

void Matrix::store(const Box& box, Random& random) {
  const std::size_t bytes = static_cast<std::size_t>(box.rows) * element_size();
  const bool by_kernel = random.one_in(3) && box.columns < 4;
  for (std::int64_t j = box.column; j < box.column + box.columns; ++j) {
    char* destination = element(box.row, j);
    const char* source = shadow_element(box.row, j);
    if (by_kernel) {
      write_by_kernel(destination, source, bytes, random);
    } else {
      memcpy(destination, source, bytes);
    }
  }
}

void Matrix::randomise_shadow(const Box& box, double magnitude, Random& random) {
  const bool zeros = random.one_in(12);  // as after memset
  for (std::int64_t j = box.column; j < box.column + box.columns; ++j) {
    for (std::int64_t i = box.row; i < box.row + box.rows; ++i) {
      const double real = zeros ? 0 : magnitude * random.unit();
      const double imaginary = zeros ? 0 : magnitude * random.unit();
      set_value(shadow_element(i, j), scalar_, {real, imaginary});
    }
  }
}

void Matrix::adopt() {
  adopt({0, 0, rows_, columns_});
}

void Matrix::adopt(const Box& box) {
  const std::size_t bytes = static_cast<std::size_t>(box.rows) * element_size();
  for (std::int64_t j = box.column; j < box.column + box.columns; ++j) {
    memcpy(shadow_element(box.row, j), element(box.row, j), bytes);
  }
}

std::string Matrix::difference_for_kernel(Random& random) const {
  const bool whole = leading_dimension_ == rows_;
  const std::int64_t column = whole ? 0 : random.between(0, columns_ - 1);
  const std::size_t bytes = column_bytes() * (whole ? static_cast<std::size_t>(columns_) : 1);
  if (kernel_finds(element(0, column), shadow_element(0, column), bytes, random)) return {};
  const std::string found = difference();
  return "the kernel finds other bytes; the program itself finds " + (found.empty() ? "none" : found);
}

std::string Matrix::difference() const {
  for (std::int64_t j = 0; j < columns_; ++j) {
    if (memcmp(element(0, j), shadow_element(0, j), column_bytes()) == 0) continue;
    for (std::int64_t i = 0; i < rows_; ++i) {
      if (memcmp(element(i, j), shadow_element(i, j), element_size()) == 0) continue;
      const auto found = value_at(element(i, j), scalar_), expected = value_at(shadow_element(i, j), scalar_);
      char text[300];
      snprintf(text, sizeof text,
               "element (%lld, %lld) of a %lld x %lld matrix in %s at %p is %.9g%+.9gi instead of %.9g%+.9gi",
               static_cast<long long>(i), static_cast<long long>(j), static_cast<long long>(rows_),
               static_cast<long long>(columns_), describe(storage()), static_cast<void*>(buffer_.data), found.real(),
               found.imag(), expected.real(), expected.imag());
      return text;
    }
  }
  return {};
}

Box random_box(const Matrix& matrix, Random& random) {
  const std::int64_t row = random.between(0, matrix.rows() - 1), column = random.between(0, matrix.columns() - 1);
  switch (random.below(12)) {
    case 0: return {row, 0, 1, matrix.columns()};
    case 1: return {0, column, matrix.rows(), 1};
    case 2: return {0, 0, matrix.rows(), matrix.columns()};
    case 3:
    case 4: return {row, column, random.between(1, matrix.rows() - row), random.between(1, matrix.columns() - column)};
    default: return {row, column, 1, 1};
  }
}

bool is_single(blas::Scalar scalar) {
  return scalar == blas::Scalar::s || scalar == blas::Scalar::c;
}

double min_normal(blas::Scalar scalar) {
  return is_single(scalar) ? double{std::numeric_limits<float>::min()} : std::numeric_limits<double>::min();
}

blas::Coefficient value_at(const char* address, blas::Scalar scalar) {
  float singles[2] = {0, 0};
  double doubles[2] = {0, 0};
  switch (scalar) {
    case blas::Scalar::s: memcpy(singles, address, 4); return {singles[0], 0};
    case blas::Scalar::c: memcpy(singles, address, 8); return {singles[0], singles[1]};
    case blas::Scalar::d: memcpy(doubles, address, 8); break;
    case blas::Scalar::z: memcpy(doubles, address, 16); break;
  }
  return {doubles[0], doubles[1]};
}

void set_value(char* address, blas::Scalar scalar, blas::Coefficient value) {
  const float singles[2] = {static_cast<float>(value.real()), static_cast<float>(value.imag())};
  const double doubles[2] = {value.real(), value.imag()};
  memcpy(address, is_single(scalar) ? static_cast<const void*>(singles) : doubles, blas::element_size(scalar));
}

}  // namespace coherence
