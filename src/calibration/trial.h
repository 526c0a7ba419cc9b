// The operation that is timed for a family. It has host memory of its own, full of pseudo-random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "decide/family.h"
#include "fft/plan.h"
#include "operation/operation.h"

namespace blastoff::calibration {

class Trial {
 public:
  /// Makes an operation of order `size`; for fft, a cube. Nothing if no routine computes it.
  static std::optional<Trial> make(decide::RateKey key, std::int64_t size);

  /// The operands lie in host memory, without gaps between columns.
  const operation::Operation& operation() const { return operation_; }

 private:
  explicit Trial(decide::RateKey key) : key_(key) {}

  bool make_blas(std::int64_t size);
  bool make_lapack(std::int64_t size);
  bool make_transform(std::int64_t size);
  void* numbers(std::size_t count);
  void* bytes(std::size_t count);
  void raise_diagonal(void* matrix, std::int64_t size) const;

  decide::RateKey key_;
  std::vector<std::unique_ptr<double[]>> memory_;
  std::unique_ptr<fft::Plan> plan_;
  operation::Operation operation_;
};

}  // namespace blastoff::calibration
