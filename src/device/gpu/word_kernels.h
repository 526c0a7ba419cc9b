// A kernel in two variants, for words of 4 and of 8 bytes, in a module of the driver's table.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "device/gpu/context.h"

namespace blastoff::device::gpu {

struct WordKernelSource {
  const char* KernelModules::*module;
  const char* words4;  ///< names of the entry points
  const char* words8;
};

class WordKernels {
 public:
  /// Has the driver load the kernels; the context must be current.
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
  Status launch(std::size_t word_bytes, Blocks blocks, void** parameters, StreamHandle stream,
                std::string_view purpose) const;

 private:
  WordKernels(std::shared_ptr<Context> context, ModuleHandle module) : context_(std::move(context)), module_(module) {}

  std::shared_ptr<Context> context_;
  ModuleHandle module_;
  FunctionHandle words4_ = nullptr;
  FunctionHandle words8_ = nullptr;
};

/// The base of each kernel's class. `Kernel::kernel_source` is its WordKernelSource.
template <class Kernel>
class LoadedKernel {
 public:
  explicit LoadedKernel(WordKernels kernels) : kernels_(std::move(kernels)) {}

  /// Has the driver load the kernels; the context must be current.
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

}  // namespace blastoff::device::gpu
