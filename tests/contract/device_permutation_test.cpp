// Permutations of a tensor's indices, and streams of the program.
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "device_fixture.h"

namespace blastoff::test {
namespace {

using device::Permutation;

class DevicePermutation : public DeviceTest {};

/// The elements of a tensor without gaps, in the order of the permutation's destination, element by element.
Bytes reordered(const Bytes& source, const Permutation& permutation) {
  Bytes result(source.size());
  std::vector<std::int64_t> index(permutation.count, 0);
  for (std::size_t n = 0; n < permutation.elements(); ++n) {
    std::size_t from = 0;
    std::size_t to = 0;
    for (std::size_t i = 0; i < permutation.count; ++i) {
      from += static_cast<std::size_t>(index[i] * permutation.dimensions[i].source_stride);
      to += static_cast<std::size_t>(index[i] * permutation.dimensions[i].destination_stride);
    }
    const std::size_t size = permutation.element_size;
    std::memcpy(&result[to * size], &source[from * size], size);
    for (std::size_t i = 0; i < permutation.count && ++index[i] == permutation.dimensions[i].extent; ++i) index[i] = 0;
  }
  return result;
}

/// The permutation that makes source index i the index order[i] of the destination.
Permutation permutation_of(const std::vector<std::int64_t>& extents, const std::vector<std::size_t>& order,
                           std::size_t element_size) {
  Permutation permutation;
  permutation.element_size = element_size;
  std::vector<std::int64_t> destination_extents(extents.size());
  for (std::size_t i = 0; i < extents.size(); ++i) destination_extents[order[i]] = extents[i];
  std::int64_t source_stride = 1;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    std::int64_t destination_stride = 1;
    for (std::size_t j = 0; j < order[i]; ++j) destination_stride *= destination_extents[j];
    permutation.add({extents[i], source_stride, destination_stride});
    source_stride *= extents[i];
  }
  return permutation;
}

TEST_P(DevicePermutation, OfEveryOrderAndSize) {
  std::mt19937 engine(7);
  const auto queue = this->queue();
  for (const std::size_t element_size : {4U, 8U, 16U}) {
    for (std::size_t rank = 0; rank <= 8; ++rank) {
      for (int attempt = 0; attempt < 4; ++attempt) {
        std::vector<std::int64_t> extents(rank);
        for (auto& extent : extents)
          extent = rank > 5 ? 1 + static_cast<int>(engine() % 3) : 1 + static_cast<int>(engine() % 7);
        std::vector<std::size_t> order(rank);
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), engine);
        const Permutation permutation = permutation_of(extents, order, element_size);
        const Bytes source = pattern(permutation.elements() * element_size, static_cast<unsigned>(engine()));
        const DeviceMemory from(*device_, source.size());
        const DeviceMemory to(*device_, source.size());
        upload(*queue, from.address(), source);
        ASSERT_OK(queue->permute(to.address(), from.address(), permutation));
        EXPECT_EQ(download(*queue, to.address(), source.size()), reordered(source, permutation));
        Bytes on_host(source.size());
        device::permute(on_host.data(), source.data(), permutation);
        EXPECT_EQ(on_host, reordered(source, permutation));
      }
    }
  }
}

TEST_P(DevicePermutation, IndicesThatStayTogetherAreOne) {
  const auto simple = permutation_of({4, 1, 5, 6}, {0, 1, 2, 3}, 8).simplified();
  EXPECT_EQ(simple.count, 1U);
  EXPECT_EQ(simple.elements(), 120U);
  const auto swapped = permutation_of({4, 5, 6}, {1, 2, 0}, 16).simplified();
  EXPECT_EQ(swapped.count, 3U) << "the parts of a number, the last index, the first two";
  EXPECT_EQ(swapped.element_size, 8U);
}

BLASTOFF_EVERY_DEVICE(DevicePermutation);

}  // namespace
}  // namespace blastoff::test
