#include "device/gpu/cuda/executors.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "device/gpu/cuda/cufft/plan_cache.h"
#include "device/gpu/cuda/library_file.h"
#include "device/gpu/matrix_kernels.h"
#include "fft/execution.h"

namespace blastoff::device::gpu::cuda {
namespace {

using operation::Operand;

constexpr std::size_t alignment = 256;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

Address address_of(const Operand& operand) {
  return reinterpret_cast<std::uintptr_t>(operand.address);
}

void* pointer(Address address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

Error unsupported(const char* message) {
  return {ErrorKind::unsupported, message};
}

class CufftExecutor final : public Executor {
 public:
  /// `scale` may be null: the driver has not compiled it.
  CufftExecutor(const api::Cufft& cufft, const ExecutorStream& stream, std::shared_ptr<const ScaleKernel> scale)
      : cufft_(cufft), stream_(stream), scale_(std::move(scale)), plans_(cufft, stream) {}

  Status execute(const operation::Operation& operation) override {
    const fft::Transform& transform = fft::plan_of(operation).transform;
    const auto steps = schedule(transform, fft::layout_of(operation));
    if (!steps) return tl::unexpected(unsupported("cuFFT has no plan for such a transform"));
    if (transform.factor != 1 && scale_ == nullptr)
      return tl::unexpected(unsupported("the driver did not compile the multiplication by a transform's factor"));
    // cuFFT reads real arrays two numbers at a time.
    for (const Operand& operand : operation.operands())
      if (address_of(operand) % (2 * transform.real_bytes()) != 0)
        return tl::unexpected(unsupported("an array of a transform is not aligned to complex numbers"));
    auto plan = plans_.plan_for(steps->shape);
    if (!plan) return tl::unexpected(plan.error());
    auto input = place_input(operation, **plan);
    if (!input) return tl::unexpected(input.error());
    if (auto ok = check(cufft_.cufftSetWorkArea((*plan)->handle, pointer(workspace_.address())), "cufftSetWorkArea");
        !ok)
      return ok;
    const Operand& output = fft::output_of(operation);
    auto done = run(transform, *steps, (*plan)->handle, *input, address_of(output));
    if (!done || transform.factor == 1) return done;
    return scale_->launch(output, transform.real_bytes(), transform.factor, stream_.stream);
  }

  /// cuFFT makes a new plan's tables in heap memory; a transform with a known plan copies nothing. An array with gaps
  /// may get other gaps, and so another plan, when it goes to the GPU.
  bool copies_heap_memory(const operation::Operation& operation) const override {
    const auto has_gaps = [](const Operand& operand) { return operand.columns > 1; };
    if (std::ranges::any_of(operation.operands(), has_gaps)) return true;
    const auto steps = schedule(fft::plan_of(operation).transform, fft::layout_of(operation));
    return steps && !plans_.has(steps->shape);
  }

 private:
  /// Makes room for the plan's work area and, behind it, for a copy of an input that cuFFT would overwrite, as it does
  /// with all complex input of real results. An input must not begin where the work area does, even if that is empty
  /// (cuFFT 12 of CUDA 13.0 fails then).
  Result<Address> place_input(const operation::Operation& operation, const FftPlan& plan) {
    const Operand& input = fft::input_of(operation);
    const std::size_t work_bytes = std::max(aligned(plan.work_bytes), alignment);
    const bool copied = fft::plan_of(operation).transform.real_output() && input.intent == operation::Intent::read;
    const std::size_t bytes = work_bytes + (copied ? input.span_bytes() : 0);
    if (auto ok = stream_.memory->grow(workspace_, bytes, stream_.stream); !ok) return tl::unexpected(ok.error());
    if (!copied) return address_of(input);
    const Address copy = workspace_.address() + work_bytes;
    if (auto ok = copy_columns(copy, input); !ok) return tl::unexpected(ok.error());
    return copy;
  }

  /// Copies the columns alone, and keeps the distance between them: there may be no memory in the gaps.
  Status copy_columns(Address to, const Operand& from) {
    const auto& driver = stream_.context->driver();
    RectangleCopy copy;
    copy.source_type = api::memory_type_unified;
    copy.destination_type = memory_type_device;
    copy.source = address_of(from);
    copy.destination = to;
    if (from.contiguous()) {
      return stream_.context->check(driver.copy_on_device(to, address_of(from), from.payload_bytes(), stream_.stream),
                                    "cuMemcpyDtoD");
    }
    copy.source_pitch = from.stride_bytes();
    copy.destination_pitch = from.stride_bytes();
    copy.width_bytes = from.column_bytes();
    copy.height = static_cast<std::size_t>(from.columns);
    return stream_.context->check_attempt(driver.copy_rectangle(&copy, stream_.stream), "cuMemcpy2D");
  }

  Status run(const fft::Transform& transform, const FftSchedule& steps, api::cufftPlan plan, Address input,
             Address output) {
    // Each side's steps are in elements of that side, even if both sides are one array.
    const std::size_t in_step = static_cast<std::size_t>(steps.in_step) * transform.in_element_bytes();
    const std::size_t out_step = static_cast<std::size_t>(steps.out_step) * transform.out_element_bytes();
    for (std::int64_t i = 0; i < steps.executions; ++i, input += in_step, output += out_step) {
      const auto status = execute_plan(transform, plan, pointer(input), pointer(output));
      if (auto ok = check(status, "cufftExec"); !ok) return ok;
    }
    return {};
  }

  api::cufftStatus execute_plan(const fft::Transform& transform, api::cufftPlan plan, void* in, void* out) const {
    const bool narrow = transform.request.precision == fft::Precision::f32;
    const int direction = transform.request.sign < 0 ? api::fft_forward : api::fft_inverse;
    switch (transform.request.kind) {
      case fft::Kind::c2c:
        return narrow ? cufft_.cufftExecC2C(plan, in, out, direction) : cufft_.cufftExecZ2Z(plan, in, out, direction);
      case fft::Kind::r2c: return narrow ? cufft_.cufftExecR2C(plan, in, out) : cufft_.cufftExecD2Z(plan, in, out);
      case fft::Kind::c2r: return narrow ? cufft_.cufftExecC2R(plan, in, out) : cufft_.cufftExecZ2D(plan, in, out);
    }
    return api::fft_not_supported;
  }

  Status check(api::cufftStatus status, const char* name) const { return check_fft(status, name, stream_); }

  const api::Cufft& cufft_;
  const ExecutorStream stream_;
  const std::shared_ptr<const ScaleKernel> scale_;
  FftPlanCache plans_;
  PooledMemory workspace_;
};

class CufftLibrary final : public ExecutorLibrary {
 public:
  explicit CufftLibrary(const api::Cufft& cufft) : cufft_(cufft) {}

  std::string version() const override { return version_text("cuFFT", cufft_.cufftGetProperty); }

  Result<std::unique_ptr<Executor>> create(const ExecutorStream& stream) const override {
    return std::make_unique<CufftExecutor>(cufft_, stream, scale_kernel(stream.context));
  }

 private:
  /// Compiled once for all streams. FFTW's transforms have no factor, and need no kernel.
  std::shared_ptr<const ScaleKernel> scale_kernel(const std::shared_ptr<Context>& context) const {
    const std::lock_guard lock(mutex_);
    if (scale_ != nullptr) return scale_;
    if (auto loaded = ScaleKernel::load(context)) scale_ = std::move(*loaded);
    return scale_;
  }

  const api::Cufft cufft_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const ScaleKernel> scale_;
};

}  // namespace

bool runs_by_cufft(const operation::Operation& operation) {
  return fft::is_fft(operation) && schedule(fft::plan_of(operation).transform, fft::layout_of(operation));
}

Result<std::unique_ptr<ExecutorLibrary>> open_cufft(const LibrarySearch& search) {
  auto cufft = load_cufft(search);
  if (!cufft) return tl::unexpected(cufft.error());
  return std::make_unique<CufftLibrary>(*cufft);
}

}  // namespace blastoff::device::gpu::cuda
