// The host vectors of an operation. They are read before it, and written only when all of its results are known to be
// good.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/gpu/page_memory.h"
#include "lapack/kinds.h"

namespace blastoff::device::gpu::cuda {

class HostResults {
 public:
  /// `operation` must outlive it.
  HostResults(const operation::Operation& operation, const lapack::Problem& problem)
      : operation_(operation), problem_(problem), found_(problem.eigenvalues()) {}

  /// The bytes that the program gave for a vector that is read.
  std::span<const std::byte> given(lapack::Argument argument) const;
  std::vector<std::int64_t> given_integers(lapack::Argument argument) const;

  /// Memory for the new content of the vector.
  std::span<std::byte> stage(lapack::Argument argument);
  void stage_integers(lapack::Argument argument, std::span<const std::int64_t> values);

  /// Sets the value that the function returns.
  void set_value(double value) { value_ = value; }

  /// Sets the number of eigenvalues, if it was not known before.
  void set_found(std::int64_t count) { found_ = count; }
  std::int64_t found() const { return found_; }

  /// Memory on pages of its own for the eigenvectors that were found; nullptr if there is none.
  std::byte* stage_eigenvectors();

  /// Whether no real number staged so far is infinite or NaN.
  bool finite() const;

  /// Writes the program's vectors: those that were staged, and what every operation that succeeds returns: info, the
  /// number of eigenvalues, their places, and the size of the work space.
  void commit() const;

 private:
  const operation::HostVector& vector(lapack::Argument argument) const;
  void write_rest(lapack::Argument argument, std::span<std::byte> to) const;
  void write_eigenvectors() const;
  void write_value() const;

  const operation::Operation& operation_;
  const lapack::Problem problem_;
  std::int64_t found_;
  double value_ = 0;
  std::array<std::vector<std::byte>, lapack::argument_count> staged_{};
  PageMemory eigenvectors_;
};

}  // namespace blastoff::device::gpu::cuda
