#include "device/gpu/permutation_kernel.h"

#include <utility>

namespace blastoff::device::gpu {
namespace {

constexpr std::size_t max_blocks = std::size_t{1} << 16;

/// Words are counted with 32 bits, since a GPU divides these several times as fast as 64 bits. One bit is left for a
/// step beyond the end.
constexpr std::size_t max_words = std::size_t{1} << 31;

// A dimension as the kernel reads it: 24 bytes. Strides are in bytes.
struct KernelDimension {
  std::uint32_t extent;
  std::uint64_t source_stride;
  std::uint64_t destination_stride;
};
static_assert(sizeof(KernelDimension) * Permutation::max_dimensions == 216);

}  // namespace

const WordKernelSource PermutationKernel::kernel_source{&KernelModules::permutation, "permute_words4",
                                                        "permute_words8"};

Status PermutationKernel::launch(Address destination, Address source, const Permutation& permutation,
                                 StreamHandle stream) const {
  const Permutation simple = permutation.simplified();
  const std::size_t words = simple.elements();
  if (words > max_words)
    return tl::unexpected(Error{ErrorKind::unsupported, "a tensor of so many elements cannot be permuted"});
  std::array<KernelDimension, Permutation::max_dimensions> shape{};
  for (std::size_t i = 0; i < simple.count; ++i) {
    const Permutation::Dimension& dimension = simple.dimensions[i];
    shape[i] = {static_cast<std::uint32_t>(dimension.extent),
                static_cast<std::uint64_t>(dimension.source_stride) * simple.element_size,
                static_cast<std::uint64_t>(dimension.destination_stride) * simple.element_size};
  }
  auto count = static_cast<std::uint32_t>(words);
  auto dimensions = static_cast<std::uint32_t>(simple.count);
  void* parameters[] = {&destination, &source, &count, &dimensions, shape.data()};
  const WordKernels::Blocks blocks{.x = block_count(words, 1, max_blocks), .y = 1};
  return kernels_.launch(simple.element_size, blocks, parameters, stream, "a permutation");
}

}  // namespace blastoff::device::gpu
