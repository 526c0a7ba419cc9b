#include "fft/host_transform.h"

#include <cstdint>
#include <cstring>
#include <memory>

#include "abi/reentry.h"
#include "fft/execution.h"

namespace blastoff::fft {
namespace {

using operation::Operand;

/// FFTW's choice of code depends only on an address modulo this.
constexpr std::size_t alignment = 64;

void copy_columns(const Operand& to, const Operand& from) {
  for (std::int64_t column = 0; column < from.columns; ++column)
    std::memcpy(static_cast<char*>(to.address) + static_cast<std::size_t>(column) * to.stride_bytes(),
                static_cast<const char*>(from.address) + static_cast<std::size_t>(column) * from.stride_bytes(),
                from.column_bytes());
}

/// Memory for an operand in the layout of the plan, with the alignment of the planned array.
class PlannedArray {
 public:
  PlannedArray(const Operand& operand, const Footprint& matrix, const void* planned) : operand_(operand) {
    operand_.leading_dimension = matrix.leading_dimension;
    memory_ = std::make_unique<char[]>(operand_.span_bytes() + 2 * alignment);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.get());
    const std::uintptr_t aligned = (begin + alignment - 1) / alignment * alignment;
    operand_.address = memory_.get() + (aligned - begin) + reinterpret_cast<std::uintptr_t>(planned) % alignment;
  }

  const Operand& operand() const { return operand_; }
  void* address() const { return operand_.address; }

 private:
  Operand operand_;
  std::unique_ptr<char[]> memory_;
};

void execute(const Plan& plan, void* in, void* out) {
  void* handle = plan.handle;
  abi::run_as_original([&] {
    if (plan.execute.style == Style::c) {
      reinterpret_cast<void (*)(void*, void*, void*)>(plan.execute.function)(handle, in, out);
    } else {
      reinterpret_cast<void (*)(void**, void*, void*)>(plan.execute.function)(&handle, in, out);
    }
  });
}

}  // namespace

bool HostTransform::can_compute(const operation::Operation& operation) const {
  return is_fft(operation) && plan_of(operation).execute.function != nullptr;
}

bool HostTransform::compute(const operation::Operation& operation) const {
  const Plan& plan = plan_of(operation);
  const PlannedArray in(input_of(operation), plan.in_footprint, plan.in);
  copy_columns(in.operand(), input_of(operation));
  if (plan.in_place()) {
    execute(plan, in.address(), in.address());
    copy_columns(output_of(operation), in.operand());
    return true;
  }
  const PlannedArray out(output_of(operation), plan.out_footprint, plan.out);
  execute(plan, in.address(), out.address());
  copy_columns(output_of(operation), out.operand());
  return true;
}

}  // namespace blastoff::fft
