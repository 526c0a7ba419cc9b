// The host vectors of an operation: read before it, and written only when all of its results are known to be good.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cuda/cusolver/page_memory.h"
#include "lapack/problem.h"

namespace blastoff::device::cuda {

class HostResults {
 public:
  /// `operation` must outlive it.
  HostResults(const operation::Operation& operation, const lapack::Problem& problem)
      : operation_(operation), problem_(problem), found_(problem.eigenvalues()) {}

  /// The program's own bytes of a vector that is read.
  std::span<const std::byte> given(lapack::Argument argument) const;
  std::vector<std::int64_t> given_integers(lapack::Argument argument) const;

  /// Memory for what the vector will hold.
  std::span<std::byte> stage(lapack::Argument argument);
  void stage_integers(lapack::Argument argument, std::span<const std::int64_t> values);

  /// How many eigenvalues there are, where that was not known before.
  void set_found(std::int64_t count) { found_ = count; }
  std::int64_t found() const { return found_; }

  /// Memory for the eigenvectors that were found, on pages of their own; nullptr if there is none.
  std::byte* stage_eigenvectors();

  /// The reals staged so far are neither infinite nor NaN.
  bool finite() const;

  /// Writes the program's vectors: what was staged, and what all operations that succeed return: info, the number of
  /// eigenvalues, their places, and the size of the work space.
  void commit() const;

 private:
  const operation::HostVector& vector(lapack::Argument argument) const;
  void write_rest(lapack::Argument argument, std::span<std::byte> to) const;
  void write_eigenvectors() const;

  const operation::Operation& operation_;
  const lapack::Problem problem_;
  std::int64_t found_;
  std::array<std::vector<std::byte>, lapack::argument_count> staged_{};
  PageMemory eigenvectors_;
};

}  // namespace blastoff::device::cuda
