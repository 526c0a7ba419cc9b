#include "device/gpu/run_copy_kernel.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace blastoff::device::gpu {
namespace {

constexpr std::size_t words_per_thread = 2;
constexpr std::size_t max_blocks_along_y = 64;

/// The copy engine copies fewer runs in about the same time.
constexpr std::size_t min_runs = 16;
/// Average bytes. The copy engine copies longer runs at the rate of the link.
constexpr std::size_t longest_run = std::size_t{32} << 10;

// Runs in one launch: a kernel takes 4096 bytes of parameters.
constexpr std::size_t max_runs = 160;
struct KernelRun {
  std::uint64_t device;
  std::uint64_t host;
  std::uint64_t words;
};
using KernelRuns = std::array<KernelRun, max_runs>;
static_assert(sizeof(KernelRuns) == 3840);

std::uint64_t alignment_of(std::span<const Run> runs) {
  std::uint64_t bits = 0;
  for (const Run& run : runs) bits |= run.device | reinterpret_cast<std::uintptr_t>(run.host) | run.bytes;
  return bits;
}

}  // namespace

const WordKernelSource RunCopyKernel::kernel_source{&KernelModules::run_copy, "copy_runs_words4", "copy_runs_words8"};

bool RunCopyKernel::suits(std::span<const Run> runs) {
  if (runs.size() < min_runs || alignment_of(runs) % 4 != 0) return false;
  std::size_t bytes = 0;
  for (const Run& run : runs) bytes += run.bytes;
  return bytes <= longest_run * runs.size();
}

Status RunCopyKernel::load() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(tried_, true)) {
    auto loaded = WordKernels::load(context_, kernel_source);
    if (loaded) kernels_.emplace(std::move(*loaded));
  }
  if (kernels_) return {};
  return tl::unexpected(Error{ErrorKind::unsupported, "the driver does not take the kernel that copies runs"});
}

Status RunCopyKernel::launch(std::span<const Run> runs, StreamHandle stream) {
  if (auto loaded = load(); !loaded) return loaded;
  const std::size_t word_bytes = alignment_of(runs) % 8 == 0 ? 8 : 4;
  while (!runs.empty()) {
    const std::span<const Run> some = runs.first(std::min(runs.size(), max_runs));
    KernelRuns arguments{};
    std::size_t longest = 0;
    for (std::size_t i = 0; i < some.size(); ++i) {
      const std::size_t words = some[i].bytes / word_bytes;
      arguments[i] = {some[i].device, reinterpret_cast<std::uintptr_t>(some[i].host), words};
      longest = std::max(longest, words);
    }
    void* parameters[] = {arguments.data()};
    const WordKernels::Blocks blocks{.x = static_cast<unsigned>(some.size()),
                                     .y = block_count(longest, words_per_thread, max_blocks_along_y)};
    if (auto queued = kernels_->launch(word_bytes, blocks, parameters, stream, "a copy of runs"); !queued)
      return queued;
    runs = runs.subspan(some.size());
  }
  return {};
}

}  // namespace blastoff::device::gpu
