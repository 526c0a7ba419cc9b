#include "device/gpu/word_kernels.h"

#include <algorithm>

namespace blastoff::device::gpu {

Result<WordKernels> WordKernels::load(std::shared_ptr<Context> context, const WordKernelSource& source) {
  const auto& driver = context->driver();
  ModuleHandle module = nullptr;
  if (auto ok = context->check_attempt(driver.load_module(&module, driver.kernels->*source.module), "loading a module");
      !ok)
    return tl::unexpected(ok.error());
  WordKernels kernels(std::move(context), module);
  auto& owner = *kernels.context_;
  for (const auto& [function, name] :
       {std::pair{&kernels.words4_, source.words4}, std::pair{&kernels.words8_, source.words8}}) {
    if (auto ok = owner.check_attempt(driver.find_function(function, module, name), "finding a kernel"); !ok)
      return tl::unexpected(ok.error());
  }
  return kernels;
}

WordKernels::WordKernels(WordKernels&& other) noexcept
    : context_(std::move(other.context_)), module_(other.module_), words4_(other.words4_), words8_(other.words8_) {}

WordKernels::~WordKernels() {
  if (!context_) return;  // moved from
  (void)context_->run(
      [&] { return context_->check_attempt(context_->driver().unload_module(module_), "unloading a module"); });
}

Status WordKernels::launch(std::size_t word_bytes, Blocks blocks, void** parameters, StreamHandle stream,
                           std::string_view purpose) const {
  const auto result = context_->driver().launch(word_bytes == 8 ? words8_ : words4_, blocks.x, blocks.y, 1,
                                                threads_per_block, 1, 1, 0, stream, parameters, nullptr);
  if (result == success) return {};
  return context_->check(result, std::string("launch of ").append(purpose));
}

unsigned block_count(std::size_t items, std::size_t items_per_thread, std::size_t most) {
  const std::size_t items_per_block = WordKernels::threads_per_block * items_per_thread;
  return static_cast<unsigned>(std::clamp<std::size_t>((items + items_per_block - 1) / items_per_block, 1, most));
}

}  // namespace blastoff::device::gpu
