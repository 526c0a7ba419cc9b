#include "fft/execution.h"

#include <cstdint>

#include <fmt/format.h>

namespace blastoff::fft {
namespace {

operation::Operand operand(const Footprint& matrix, std::size_t element_bytes, void* address,
                           operation::Intent intent) {
  return {.address = address,
          .rows = matrix.rows,
          .columns = matrix.columns,
          .leading_dimension = matrix.leading_dimension,
          .element_size = element_bytes,
          .intent = intent};
}

/// Returns a matrix of complex numbers as a matrix of real numbers.
Footprint in_reals(const Footprint& matrix) {
  return {2 * matrix.rows, matrix.columns, 2 * matrix.leading_dimension};
}

}  // namespace

bool Execution::supported() const {
  const bool one = in == out;
  if (one != plan->in_place() || plan->execute.function == nullptr) return false;
  if (one) return true;
  const auto in_begin = reinterpret_cast<std::uintptr_t>(in);
  const auto out_begin = reinterpret_cast<std::uintptr_t>(out);
  const auto in_bytes = static_cast<std::uintptr_t>(plan->in_footprint.span()) * plan->in_element_bytes();
  const auto out_bytes = static_cast<std::uintptr_t>(plan->out_footprint.span()) * plan->out_element_bytes();
  return in_begin + in_bytes <= out_begin || out_begin + out_bytes <= in_begin;
}

operation::Operation Execution::operation() const {
  using operation::Intent;
  const auto routine =
      static_cast<operation::RoutineId>(front_end().first_routine() + front_end_routine(plan->transform.request));
  operation::Operation made(front_end(), routine, Payload{plan});
  made.work = plan->work;
  made.shape = plan->shape;
  const bool one = plan->in_place();
  made.add(operand(plan->in_footprint, plan->in_element_bytes(), in, one ? Intent::update : Intent::read));
  if (!one) made.add(operand(plan->out_footprint, plan->out_element_bytes(), out, Intent::write));
  return made;
}

bool is_fft(const operation::Operation& operation) {
  return operation.has_payload<Payload>();
}

const Plan& plan_of(const operation::Operation& operation) {
  return *operation.payload<Payload>().plan;
}

const operation::Operand& input_of(const operation::Operation& operation) {
  return operation.operands().front();
}

const operation::Operand& output_of(const operation::Operation& operation) {
  return operation.operands().back();
}

Layout layout_of(const operation::Operation& operation) {
  const Plan& plan = plan_of(operation);
  const Transform& transform = plan.transform;
  const bool mixed = plan.in_place();
  Footprint in = plan.in_footprint;
  Footprint out = plan.out_footprint;
  std::int64_t in_leading = input_of(operation).leading_dimension;
  std::int64_t out_leading = output_of(operation).leading_dimension;
  if (mixed && transform.real_input()) {
    in = in_reals(in);
    in_leading *= 2;
  }
  if (mixed && transform.real_output()) {
    out = in_reals(out);
    out_leading *= 2;
  }
  Layout layout{transform.dims, transform.batches};
  for (Dimensions* dimensions : {&layout.dims, &layout.batches})
    for (Dimension& dimension : dimensions->all()) {
      dimension.in_stride = moved_stride(dimension.in_stride, in, in_leading);
      dimension.out_stride = moved_stride(dimension.out_stride, out, out_leading);
    }
  return layout;
}

std::string text(const Transform& transform) {
  std::string result;
  for (const Dimension& dimension : transform.dims.all())
    result += fmt::format("{}{}", result.empty() ? "" : "x", dimension.length);
  if (transform.request.kind == Kind::c2c) result += transform.request.sign < 0 ? " forward" : " backward";
  if (transform.request.in_place) result += " in place";
  if (transform.batches.size() > 0) result += " batch";
  for (const Dimension& dimension : transform.batches.all()) result += fmt::format(" {}", dimension.length);
  return result;
}

}  // namespace blastoff::fft
