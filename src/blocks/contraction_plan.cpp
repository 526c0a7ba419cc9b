#include "blocks/contraction_plan.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace blastoff::blocks {

namespace {

/// The labels of the first that the second has too, in the order of the first.
std::string common(std::string_view first, std::string_view second) {
  std::string labels;
  for (const char label : first)
    if (second.find(label) != std::string_view::npos) labels += label;
  return labels;
}

long long extent_of(const TensorShape& tensor, char label) {
  return tensor.extents[tensor.labels.find(label)];
}

Status check_one(const TensorShape& tensor, const char* name) {
  if (tensor.labels.size() > TensorShape::max_indices)
    return failure(ErrorKind::bad_argument,
                   fmt::format("{} \"{}\" has more than {} indices", name, tensor.labels, TensorShape::max_indices));
  std::size_t elements = 1;
  for (std::size_t i = 0; i < tensor.labels.size(); ++i) {
    if (tensor.labels.find(tensor.labels[i]) != i)
      return failure(ErrorKind::bad_argument,
                     fmt::format("index {} occurs twice in {} \"{}\"", tensor.labels[i], name, tensor.labels));
    const long long extent = tensor.extents[i];
    if (extent < 1 ||
        static_cast<unsigned long long>(extent) > std::numeric_limits<std::int64_t>::max() / 16 / elements)
      return failure(ErrorKind::bad_argument,
                     fmt::format("index {} of {} \"{}\" has length {}", tensor.labels[i], name, tensor.labels, extent));
    elements *= static_cast<std::size_t>(extent);
  }
  return {};
}

struct Named {
  const TensorShape& tensor;
  const char* name;
};

Status check(const std::array<Named, 3>& tensors) {
  for (const auto& [tensor, name] : tensors)
    if (auto ok = check_one(tensor, name); !ok) return ok;
  for (const auto& [tensor, name] : tensors) {
    for (const char label : tensor.labels) {
      int others = 0;
      for (const auto& [other, other_name] : tensors) {
        if (&other == &tensor || other.labels.find(label) == std::string::npos) continue;
        ++others;
        if (extent_of(other, label) != extent_of(tensor, label))
          return failure(ErrorKind::bad_argument,
                         fmt::format("index {} has length {} in {} and {} in {}", label, extent_of(tensor, label), name,
                                     extent_of(other, label), other_name));
      }
      if (others != 1)
        return failure(ErrorKind::bad_argument,
                       fmt::format("index {} has to occur in exactly two of \"{}\", \"{}\" and \"{}\"", label,
                                   tensors[0].tensor.labels, tensors[1].tensor.labels, tensors[2].tensor.labels));
    }
  }
  return {};
}

device::Permutation permutation_to(const TensorShape& tensor, const std::string& order) {
  device::Permutation permutation;
  std::int64_t source_stride = 1;
  for (std::size_t i = 0; i < tensor.labels.size(); ++i) {
    std::int64_t destination_stride = 1;
    for (const char label : order.substr(0, order.find(tensor.labels[i])))
      destination_stride *= extent_of(tensor, label);
    permutation.add({tensor.extents[i], source_stride, destination_stride});
    source_stride *= tensor.extents[i];
  }
  return permutation;
}

MatrixForm form(const TensorShape& tensor, const std::string& rows, const std::string& columns) {
  if (tensor.labels == rows + columns) return {};
  if (tensor.labels == columns + rows) return {.transposed = true};
  return {.permuted = true, .permutation = permutation_to(tensor, rows + columns)};
}

std::int64_t product(const TensorShape& tensor, const std::string& labels) {
  std::int64_t extent = 1;
  for (const char label : labels) extent *= extent_of(tensor, label);
  return extent;
}

}  // namespace

std::size_t TensorShape::elements() const {
  std::size_t product = 1;
  for (std::size_t i = 0; i < labels.size(); ++i) product *= static_cast<std::size_t>(extents[i]);
  return product;
}

// The indices of each of the three groups take the order of one of the two tensors that have them.
Result<ContractionPlan> plan_contraction(const TensorShape& a, const TensorShape& b, const TensorShape& c,
                                         bool reads_c) {
  if (auto ok = check({Named{a, "A"}, Named{b, "B"}, Named{c, "C"}}); !ok) return tl::unexpected(ok.error());
  ContractionPlan best;
  std::size_t least = SIZE_MAX;
  for (const std::string& rows : {common(a.labels, c.labels), common(c.labels, a.labels)}) {
    for (const std::string& columns : {common(b.labels, c.labels), common(c.labels, b.labels)}) {
      for (const std::string& depth : {common(a.labels, b.labels), common(b.labels, a.labels)}) {
        const ContractionPlan plan{.m = product(a, rows),
                                   .n = product(b, columns),
                                   .k = product(a, depth),
                                   .a = form(a, rows, depth),
                                   .b = form(b, depth, columns),
                                   .c = form(c, rows, columns)};
        const std::size_t moved = (plan.a.permuted ? a.elements() : 0) + (plan.b.permuted ? b.elements() : 0) +
                                  (plan.c.permuted ? c.elements() * (reads_c ? 2 : 1) : 0);
        if (moved >= least) continue;
        least = moved;
        best = plan;
      }
    }
  }
  return best;
}

device::Permutation inverse(const device::Permutation& permutation) {
  device::Permutation reverse = permutation;
  for (std::size_t i = 0; i < reverse.count; ++i)
    std::swap(reverse.dimensions[i].source_stride, reverse.dimensions[i].destination_stride);
  return reverse;
}

}  // namespace blastoff::blocks
