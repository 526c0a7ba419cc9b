// A kernel in two variants, for words of 4 and of 8 bytes. It is PTX, which the driver compiles for the GPU.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "device/gpu/context.h"

namespace blastoff::device::cuda {

struct WordKernelSource {
  const char* functions;  ///< PTX that defines both variants
  const char* words4;     ///< names of the entry points
  const char* words8;

  /// The whole module, for the driver or NVIDIA's assembler.
  std::string text() const { return std::string(".version 6.0\n.target sm_70\n.address_size 64\n") + functions; }
};

class WordKernels {
 public:
  /// Has the driver compile the kernels; the context must be current.
  static Result<WordKernels> load(std::shared_ptr<Context> context, const WordKernelSource& source);
  ~WordKernels();
  WordKernels(WordKernels&& other) noexcept;
  WordKernels(const WordKernels&) = delete;
  WordKernels& operator=(const WordKernels&) = delete;

  struct Blocks {
    unsigned x;
    unsigned y;
  };
  static constexpr unsigned threads_per_block = 256;

  /// Queues a launch; the context must be current. `word_bytes`: 4 or 8. `purpose` appears in messages: "a
  /// transposition".
  Status launch(std::size_t word_bytes, Blocks blocks, void** parameters, api::CUstream stream,
                std::string_view purpose) const;

 private:
  WordKernels(std::shared_ptr<Context> context, api::CUmodule module) : context_(std::move(context)), module_(module) {}

  std::shared_ptr<Context> context_;
  api::CUmodule module_;
  api::CUfunction words4_ = nullptr;
  api::CUfunction words8_ = nullptr;
};

/// The base of each kernel's class. `Kernel::kernel_source` is its WordKernelSource.
template <class Kernel>
class LoadedKernel {
 public:
  explicit LoadedKernel(WordKernels kernels) : kernels_(std::move(kernels)) {}

  /// Has the driver compile the kernels; the context must be current.
  static Result<std::unique_ptr<Kernel>> load(const std::shared_ptr<Context>& context) {
    return WordKernels::load(context, Kernel::kernel_source).map([](WordKernels&& kernels) {
      return std::make_unique<Kernel>(std::move(kernels));
    });
  }

 protected:
  WordKernels kernels_;
};

/// How many blocks cover `items` if each thread takes `items_per_thread`: at least one, at most `most`.
unsigned block_count(std::size_t items, std::size_t items_per_thread, std::size_t most);

}  // namespace blastoff::device::cuda
