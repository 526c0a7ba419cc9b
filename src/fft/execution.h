// One execution of a plan, as an operation.
#pragma once

#include <string>

#include "fft/plan.h"
#include "operation/front_end.h"
#include "operation/operation.h"

namespace blastoff::fft {

operation::FrontEnd& fftw();

/// The front end's routines: one for each kind and precision, whatever function executes it.
inline constexpr std::size_t front_end_routines = 6;
constexpr std::size_t front_end_routine(const Request& request) {
  return static_cast<std::size_t>(request.kind) + 3 * static_cast<std::size_t>(request.precision);
}

/// A plan and the arrays that it is executed on: the operation's payload and its operands.
struct Execution {
  const Plan* plan = nullptr;
  void* in = nullptr;
  void* out = nullptr;

  /// Whether the arrays fit the plan: one array for a plan in place, two disjoint ones for others.
  bool supported() const;
  operation::Operation operation() const;
};

/// What an operation's payload holds. It lives as long as the execution.
struct Payload {
  const Plan* plan;
};

bool is_fft(const operation::Operation& operation);

/// The plan of an operation.
const Plan& plan_of(const operation::Operation& operation);

/// In place, both are the one operand.
const operation::Operand& input_of(const operation::Operation& operation);
const operation::Operand& output_of(const operation::Operation& operation);

/// The layout on either side where the operands lie: their leading dimensions may differ from the plan's.
struct Layout {
  Dimensions dims;
  Dimensions batches;
};
Layout layout_of(const operation::Operation& operation);

/// "64x64x64 forward in place, batch 10".
std::string text(const Transform& transform);

}  // namespace blastoff::fft
