// Describes a transform as a plan of cuFFT.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "device/gpu/cuda/cufft/api.h"
#include "fft/execution.h"

namespace blastoff::device::gpu::cuda {

/// The arguments of cufftMakePlanMany64. Strides and distances of a side are in elements of that side.
struct FftShape {
  static constexpr std::size_t max_dims = 3;

  int type = 0;
  int rank = 0;
  std::array<api::FftSize, max_dims> lengths{};
  std::array<api::FftSize, max_dims> in_embedding{};
  std::array<api::FftSize, max_dims> out_embedding{};
  api::FftSize in_stride = 0;
  api::FftSize out_stride = 0;
  api::FftSize in_distance = 0;
  api::FftSize out_distance = 0;
  api::FftSize batch = 1;
  bool operator==(const FftShape& other) const = default;
};

/// A plan that is executed several times, each time `in_step` and `out_step` elements further on.
struct FftSchedule {
  FftShape shape;
  std::int64_t executions = 1;
  std::int64_t in_step = 0;
  std::int64_t out_step = 0;
};

/// nullopt if cuFFT cannot do the transform in one or a few executions: more than three dimensions, or strides that are
/// no multiples of each other.
std::optional<FftSchedule> schedule(const fft::Transform& transform, const fft::Layout& layout);

}  // namespace blastoff::device::gpu::cuda
