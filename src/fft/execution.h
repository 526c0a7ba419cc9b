// One execution of a plan as an operation.
#pragma once

#include <string>

#include "fft/plan.h"
#include "fft/routine_names.h"
#include "operation/front_end.h"
#include "operation/operation.h"

namespace blastoff::fft {

operation::FrontEnd& fftw();
/// Transforms of MKL's own interface.
operation::FrontEnd& dfti();
/// Transforms of NumPy and SciPy, which have plans of ours.
operation::FrontEnd& pocketfft();

constexpr std::size_t front_end_routine(const Request& request) {
  return static_cast<std::size_t>(request.kind) + 3 * static_cast<std::size_t>(request.precision);
}

/// A plan and the arrays on which it is executed. They become the operation's payload and operands.
struct Execution {
  const Plan* plan = nullptr;
  void* in = nullptr;
  void* out = nullptr;
  operation::FrontEnd& (*front_end)() = &fftw;

  /// Whether the arrays fit the plan: one array for a plan in place, two disjoint arrays for another plan.
  bool supported() const;
  operation::Operation operation() const;
};

/// The payload of an operation. The plan lives at least as long as the execution.
struct Payload {
  const Plan* plan;
};

bool is_fft(const operation::Operation& operation);

/// The plan of an operation.
const Plan& plan_of(const operation::Operation& operation);

/// For a transform in place, both functions return the same operand.
const operation::Operand& input_of(const operation::Operation& operation);
const operation::Operand& output_of(const operation::Operation& operation);

/// The loops of a transform, with the strides of the operands: their leading dimensions may differ from the plan's.
struct Layout {
  Dimensions dims;
  Dimensions batches;
};
Layout layout_of(const operation::Operation& operation);

/// Returns a text such as "64x64x64 forward in place, batch 10".
std::string text(const Transform& transform);

}  // namespace blastoff::fft
