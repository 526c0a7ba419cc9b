// A matrix of the program under test beside its shadow, which holds what the matrix must contain.
#pragma once

#include <cstdint>
#include <string>

#include "blas/call.h"
#include "memory.h"
#include "random.h"

namespace coherence {

namespace blas = blastoff::blas;

/// Where something happens in a matrix.
struct Box {
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// Elements of one type, column-major. The shadow is as large as the matrix, without gaps, on pages of its own: keeping
/// it up to date writes no page that any matrix lies on.
class Matrix {
 public:
  /// Takes the buffer over. A leading dimension larger than `rows` means that the rows between belong to someone else.
  Matrix(Buffer buffer, blas::Scalar scalar, std::int64_t rows, std::int64_t columns, std::int64_t leading_dimension);
  ~Matrix();
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  /// Of no other matrix, ever.
  std::uint64_t identity() const { return identity_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t leading_dimension() const { return leading_dimension_; }
  blas::Scalar scalar() const { return scalar_; }
  std::size_t element_size() const { return blas::element_size(scalar_); }
  Storage storage() const { return buffer_.storage; }
  /// Memory operations may be done on it: all of the buffer is this matrix.
  bool owned() const { return buffer_.storage != Storage::borrowed; }

  char* element(std::int64_t row, std::int64_t column) const;
  char* shadow_element(std::int64_t row, std::int64_t column) const;

  /// Writes what the shadow's box holds now into the matrix: by stores, element by element, or through the kernel.
  void store(const Box& box, Random& random);
  /// Fills the shadow's box with small random values (store() follows), so small that products and solves stay bounded.
  void randomise_shadow(const Box& box, double magnitude, Random& random);

  /// Believes the memory: for contents that something outside this thread wrote.
  void adopt();
  void adopt(const Box& box);

  void move_or_remap(Random& random) { coherence::move_or_remap(buffer_, random); }
  void discard(Random& random) { coherence::discard(buffer_, shadow_, random); }
  bool write_to_file(Random& random) { return coherence::write_to_file(buffer_, shadow_, random); }

  /// Empty, or the first element whose bytes differ from the shadow's.
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

/// A random part of a matrix: an element, a row, a column, a block, all of it.
Box random_box(const Matrix& matrix, Random& random);

bool is_single(blas::Scalar scalar);
/// Below it, rounding errors are absolute.
double min_normal(blas::Scalar scalar);

/// Reads element `address` of the given type.
blas::Coefficient value_at(const char* address, blas::Scalar scalar);
void set_value(char* address, blas::Scalar scalar, blas::Coefficient value);

}  // namespace coherence
