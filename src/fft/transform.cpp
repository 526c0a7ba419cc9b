#include "fft/transform.h"

#include <cmath>
#include <cstdlib>

namespace blastoff::fft {
namespace {

constexpr std::int64_t max_elements = std::int64_t{1} << 46;

bool holds(const Dimension& dimension) {
  if (dimension.length < 1 || dimension.length > max_elements) return false;
  if (dimension.length == 1) return true;
  const auto fits = [&](std::int64_t stride) { return stride >= 1 && stride <= max_elements / dimension.length; };
  return fits(dimension.in_stride) && fits(dimension.out_stride);
}

/// Returns the number of elements in a line on the complex side of a real transform.
std::int64_t halved(std::int64_t length) {
  return length / 2 + 1;
}

/// The strides of each dimension in the input or the output, beginning with the slowest.
struct Strides {
  std::array<std::int64_t, Dimensions::max_count> of{};
  bool valid = true;
};

/// `line`: elements in a line of FFTW's default layout.
Strides strides_of(std::span<const std::int64_t> lengths, const Embedding& side, std::int64_t line) {
  Strides strides;
  std::int64_t stride = side.stride;
  for (std::size_t i = lengths.size(); i-- > 0;) {
    strides.of[i] = stride;
    const std::int64_t natural = i + 1 == lengths.size() ? line : lengths[i];
    const std::int64_t embedding = side.lengths.empty() ? natural : side.lengths[i];
    // FFTW does not use the embedding of the first dimension.
    if (i > 0 && (embedding < 1 || stride > max_elements / embedding)) strides.valid = false;
    if (!strides.valid) return strides;
    stride *= embedding < 1 ? 1 : embedding;
  }
  return strides;
}

}  // namespace

double Transform::length() const {
  double points = 1;
  for (const Dimension& dimension : dims.all()) points *= static_cast<double>(dimension.length);
  return points;
}

double Transform::points() const {
  double points = length();
  for (const Dimension& dimension : batches.all()) points *= static_cast<double>(dimension.length);
  return points;
}

double Transform::flops() const {
  const double complex_flops = 5 * points() * std::log2(length());
  return request.kind == Kind::c2c ? complex_flops : complex_flops / 2;
}

std::int64_t Transform::in_length(std::size_t index) const {
  const std::int64_t length = dims.all()[index].length;
  return request.kind == Kind::c2r && index + 1 == dims.size() ? halved(length) : length;
}

std::int64_t Transform::out_length(std::size_t index) const {
  const std::int64_t length = dims.all()[index].length;
  return request.kind == Kind::r2c && index + 1 == dims.size() ? halved(length) : length;
}

std::optional<Transform> basic(const Request& request, std::span<const std::int64_t> lengths) {
  return many(request, lengths, 1, {}, {});
}

std::optional<Transform> many(const Request& request, std::span<const std::int64_t> lengths, std::int64_t howmany,
                              const Embedding& in, const Embedding& out) {
  if (lengths.empty() || lengths.size() > Dimensions::max_count) return std::nullopt;
  for (const std::int64_t length : lengths)
    if (length < 1 || length > max_elements) return std::nullopt;
  const std::int64_t last = lengths.back();
  const std::int64_t real_line = request.in_place ? 2 * halved(last) : last;
  const auto line = [&](bool real) {
    if (request.kind == Kind::c2c) return last;
    return real ? real_line : halved(last);
  };
  const Strides in_strides = strides_of(lengths, in, line(request.kind == Kind::r2c));
  const Strides out_strides = strides_of(lengths, out, line(request.kind == Kind::c2r));
  if (!in_strides.valid || !out_strides.valid) return std::nullopt;
  std::array<Dimension, Dimensions::max_count> dims;
  for (std::size_t i = 0; i < lengths.size(); ++i) dims[i] = {lengths[i], in_strides.of[i], out_strides.of[i]};
  const Dimension batch{howmany, in.distance, out.distance};
  return guru(request, {dims.data(), lengths.size()}, {&batch, 1});
}

std::optional<Transform> guru(const Request& request, std::span<const Dimension> dims,
                              std::span<const Dimension> batches) {
  if (dims.empty() || (request.sign != 1 && request.sign != -1)) return std::nullopt;
  Transform transform;
  transform.request = request;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!holds(dims[i])) return std::nullopt;
    const bool halves = request.kind != Kind::c2c && i + 1 == dims.size();
    if ((dims[i].length > 1 || halves) && !transform.dims.add(dims[i])) return std::nullopt;
  }
  for (const Dimension& batch : batches) {
    if (!holds(batch)) return std::nullopt;
    if (batch.length > 1 && !transform.batches.add(batch)) return std::nullopt;
  }
  const double points = transform.points();
  if (transform.length() < 2 || points > static_cast<double>(max_elements)) return std::nullopt;
  return transform;
}

}  // namespace blastoff::fft
