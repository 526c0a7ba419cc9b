#include "device/gpu/triangle_kernel.h"

#include <algorithm>
#include <utility>

namespace blastoff::device::gpu {
namespace {

constexpr std::size_t words_per_thread = 8;
constexpr std::size_t max_blocks_along_y = 65535;

}  // namespace

const WordKernelSource TriangleKernel::kernel_source{&KernelModules::triangle, "copy_triangle_words4",
                                                     "copy_triangle_words8"};

Status TriangleKernel::launch(const TriangleCopy& copy, StreamHandle stream) const {
  if (copy.order == 0) return {};
  const std::uint64_t alignment =
      copy.destination | copy.source | copy.destination_pitch | copy.source_pitch | copy.element_size;
  if (alignment % 4 != 0 || copy.order > INT32_MAX) {
    return tl::unexpected(Error{ErrorKind::unsupported, "a triangle that is not aligned to 4 bytes cannot be copied"});
  }
  const std::size_t word_bytes = alignment % 8 == 0 ? 8 : 4;
  std::uint32_t words_per_element = static_cast<std::uint32_t>(copy.element_size / word_bytes);
  std::uint64_t words = static_cast<std::uint64_t>(copy.order) * words_per_element;
  auto block_order = static_cast<std::uint32_t>(std::min(copy.block_order, copy.order));
  std::uint32_t lower = copy.part == operation::Part::lower ? 1 : 0;
  TriangleCopy arguments = copy;
  void* parameters[] = {&arguments.destination,
                        &arguments.source,
                        &arguments.destination_pitch,
                        &arguments.source_pitch,
                        &words,
                        &words_per_element,
                        &block_order,
                        &lower};
  const std::size_t longest = static_cast<std::size_t>(block_order) * words_per_element;
  const WordKernels::Blocks blocks{.x = static_cast<unsigned>(copy.order),
                                   .y = block_count(longest, words_per_thread, max_blocks_along_y)};
  return kernels_.launch(word_bytes, blocks, parameters, stream, "a triangle copy");
}

}  // namespace blastoff::device::gpu
