// A matrix of the program under test, and its shadow, which holds the expected contents.
#pragma once

#include <cstdint>
#include <string>

#include "blas/call.h"
#include "memory.h"
#include "onlookers.h"
#include "random.h"

namespace coherence {

namespace blas = blastoff::blas;

/// A rectangular part of a matrix.
struct Box {
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// A column-major matrix with elements of one type. The shadow has the same size, without gaps, and lies on separate
/// pages, so that updating it writes no page of any matrix.
class Matrix {
 public:
  /// Takes ownership of the buffer. If the leading dimension is larger than `rows`, the rows between belong to others.
  Matrix(Buffer buffer, blas::Scalar scalar, std::int64_t rows, std::int64_t columns, std::int64_t leading_dimension);
  ~Matrix();
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  /// A number that no other matrix ever has.
  std::uint64_t identity() const { return identity_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t leading_dimension() const { return leading_dimension_; }
  blas::Scalar scalar() const { return scalar_; }
  std::size_t element_size() const { return blas::element_size(scalar_); }
  Storage storage() const { return buffer_.storage; }
  /// Whether memory operations are allowed, because the whole buffer belongs to this matrix.
  bool owned() const { return buffer_.storage != Storage::borrowed; }

  char* element(std::int64_t row, std::int64_t column) const;
  char* shadow_element(std::int64_t row, std::int64_t column) const;

  /// Copies the shadow's box into the matrix: by stores, element by element, or through the kernel.
  void store(const Box& box, Random& random);
  /// Fills the shadow's box with random values that are so small that products and solves stay bounded. Call store()
  /// afterwards.
  void randomise_shadow(const Box& box, double magnitude, Random& random);

  /// Copies the matrix into the shadow. For contents that something outside this thread wrote.
  void adopt();
  void adopt(const Box& box);

  void move_or_remap(Random& random) { coherence::move_or_remap(buffer_, random); }
  void discard(Random& random) { coherence::discard(buffer_, shadow_, random); }
  bool write_to_file(Random& random) { return coherence::write_to_file(buffer_, shadow_, random); }

  /// Looks through the kernel, at all columns together or at one. Names the place where it finds other bytes than the
  /// shadow's; empty if there is none.
  std::string difference_for_kernel(Random& random) const;
  void advise(Random& random) { coherence::advise(buffer_.data, buffer_.bytes, random); }

  /// Names the first element whose bytes differ from the shadow's; empty if there is none.
  std::string difference() const;

 private:
  std::size_t column_bytes() const { return static_cast<std::size_t>(rows_) * element_size(); }

  Buffer buffer_;
  blas::Scalar scalar_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t leading_dimension_;
  char* shadow_;
  std::uint64_t identity_;
};

/// A random part of a matrix: an element, a row, a column, a block, or the whole matrix.
Box random_box(const Matrix& matrix, Random& random);

bool is_single(blas::Scalar scalar);
/// The magnitude below which rounding errors are absolute.
double min_normal(blas::Scalar scalar);

/// The element of the given type at `address`.
blas::Coefficient value_at(const char* address, blas::Scalar scalar);
void set_value(char* address, blas::Scalar scalar, blas::Coefficient value);

}  // namespace coherence
