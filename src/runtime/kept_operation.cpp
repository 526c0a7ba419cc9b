#include "runtime/kept_operation.h"

#include "fft/execution.h"

namespace blastoff::runtime {

namespace {

using operation::Operation;

std::shared_ptr<const fft::Plan> plan_copied(const Operation& operation) {
  return fft::is_fft(operation) ? std::make_shared<const fft::Plan>(fft::plan_of(operation)) : nullptr;
}

Operation with_plan(const Operation& operation, const fft::Plan* plan) {
  if (plan == nullptr) return operation;
  Operation made(operation.front_end(), operation.routine(), fft::Payload{plan});
  made.work = operation.work;
  made.shape = operation.shape;
  for (const operation::Operand& operand : operation.operands()) made.add(operand);
  return made;
}

}  // namespace

KeptOperation::KeptOperation(const Operation& operation)
    : plan_(plan_copied(operation)), operation_(with_plan(operation, plan_.get())) {}

}  // namespace blastoff::runtime
