#include "device/gpu/cuda/cufft/shape.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace blastoff::device::gpu::cuda {
namespace {

using fft::Dimension;

/// Each execution costs a launch of the same kernels.
constexpr std::int64_t max_executions = 64;

int type_of(const fft::Transform& transform) {
  const bool narrow = transform.request.precision == fft::Precision::f32;
  switch (transform.request.kind) {
    case fft::Kind::c2c: return narrow ? api::fft_c2c : api::fft_z2z;
    case fft::Kind::r2c: return narrow ? api::fft_r2c : api::fft_d2z;
    case fft::Kind::c2r: return narrow ? api::fft_c2r : api::fft_z2d;
  }
  return 0;
}

/// Elements of a dimension on one side. The complex side holds n/2 + 1 elements of a halved dimension.
std::int64_t side_length(const fft::Transform& transform, bool complex_side, std::int64_t length, bool last) {
  return transform.request.kind != fft::Kind::c2c && last && complex_side ? length / 2 + 1 : length;
}

struct Side {
  std::array<api::FftSize, FftShape::max_dims> embedding{};
  api::FftSize stride = 0;
};

/// One side's strides as cuFFT's embeddings: the embedding of dimension k is the stride of dimension k - 1 divided by
/// its own.
std::optional<Side> side_of(const std::vector<std::int64_t>& lengths, const std::vector<std::int64_t>& strides) {
  Side side;
  side.stride = strides.back();
  if (side.stride < 1) return std::nullopt;
  side.embedding[0] = lengths[0];
  for (std::size_t k = 1; k < lengths.size(); ++k) {
    if (strides[k] < 1 || strides[k - 1] % strides[k] != 0) return std::nullopt;
    side.embedding[k] = strides[k - 1] / strides[k];
    if (side.embedding[k] < lengths[k]) return std::nullopt;
  }
  return side;
}

/// Dimensions with the largest stride first; a halved dimension stays the last.
std::vector<Dimension> in_order(const fft::Transform& transform, const fft::Layout& layout) {
  const auto all = layout.dims.all();
  std::vector<Dimension> dims(all.begin(), all.end());
  const auto end = transform.request.kind == fft::Kind::c2c ? dims.end() : dims.end() - 1;
  std::stable_sort(dims.begin(), end,
                   [](const Dimension& left, const Dimension& right) { return left.in_stride > right.in_stride; });
  return dims;
}

bool set_dims(FftShape& shape, const fft::Transform& transform, const std::vector<Dimension>& dims) {
  std::vector<std::int64_t> in_lengths, out_lengths, in_strides, out_strides;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    const bool last = k + 1 == dims.size();
    shape.lengths[k] = dims[k].length;
    in_lengths.push_back(side_length(transform, !transform.real_input(), dims[k].length, last));
    out_lengths.push_back(side_length(transform, !transform.real_output(), dims[k].length, last));
    in_strides.push_back(dims[k].in_stride);
    out_strides.push_back(dims[k].out_stride);
  }
  const auto in = side_of(in_lengths, in_strides);
  const auto out = side_of(out_lengths, out_strides);
  if (!in || !out) return false;
  shape.rank = static_cast<int>(dims.size());
  shape.in_embedding = in->embedding;
  shape.out_embedding = out->embedding;
  shape.in_stride = in->stride;
  shape.out_stride = out->stride;
  // Not used if there is only one transform.
  shape.in_distance = in_strides[0] * in_lengths[0];
  shape.out_distance = out_strides[0] * out_lengths[0];
  return true;
}

/// Merges batches that follow each other on both sides.
std::vector<Dimension> merged_batches(const fft::Layout& layout) {
  const auto all = layout.batches.all();
  std::vector<Dimension> batches(all.begin(), all.end());
  std::sort(batches.begin(), batches.end(),
            [](const Dimension& left, const Dimension& right) { return left.in_stride < right.in_stride; });
  std::vector<Dimension> merged;
  for (const Dimension& batch : batches) {
    Dimension* const inner = merged.empty() ? nullptr : &merged.back();
    if (inner != nullptr && batch.in_stride == inner->in_stride * inner->length &&
        batch.out_stride == inner->out_stride * inner->length)
      inner->length *= batch.length;
    else
      merged.push_back(batch);
  }
  return merged;
}

}  // namespace

std::optional<FftSchedule> schedule(const fft::Transform& transform, const fft::Layout& layout) {
  FftSchedule result;
  result.shape.type = type_of(transform);
  if (layout.dims.size() > FftShape::max_dims) return std::nullopt;
  if (!set_dims(result.shape, transform, in_order(transform, layout))) return std::nullopt;
  std::vector<Dimension> batches = merged_batches(layout);
  if (batches.size() > 2) return std::nullopt;
  if (batches.size() == 2) {
    if (batches[0].length < batches[1].length) std::swap(batches[0], batches[1]);
    if (batches[1].length > max_executions) return std::nullopt;
    result.executions = batches[1].length;
    result.in_step = batches[1].in_stride;
    result.out_step = batches[1].out_stride;
  }
  if (!batches.empty()) {
    result.shape.batch = batches[0].length;
    result.shape.in_distance = batches[0].in_stride;
    result.shape.out_distance = batches[0].out_stride;
  }
  return result;
}

}  // namespace blastoff::device::gpu::cuda
