#include "blas/vector_call.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fmt/format.h>

namespace blastoff::blas {
namespace {

using platform::Span;

std::int64_t stride(const Vector& vector) {
  return std::abs(vector.increment);
}

Span bounds(const VectorCall& call, const Vector& vector) {
  const auto begin = reinterpret_cast<std::uintptr_t>(vector.address);
  const auto size = static_cast<std::int64_t>(element_size(call.row().scalar));
  return {begin, begin + static_cast<std::uintptr_t>(((call.n - 1) * stride(vector) + 1) * size)};
}

/// Whether an element of one may lie in the other. Rows of one matrix are as far apart as their addresses, modulo the
/// distance of their elements.
bool may_overlap(const VectorCall& call) {
  const Span x = bounds(call, call.x_and_y[0]);
  const Span y = bounds(call, call.x_and_y[1]);
  if (x.end <= y.begin || y.end <= x.begin) return false;
  const std::uintptr_t size = element_size(call.row().scalar);
  const std::uintptr_t distance = std::max(x.begin, y.begin) - std::min(x.begin, y.begin);
  if (stride(call.x_and_y[0]) != stride(call.x_and_y[1]) || distance % size != 0) return true;
  return distance / size % static_cast<std::uintptr_t>(stride(call.x_and_y[0])) == 0;
}

/// The elements of one vector that lie within a range.
Elements elements_within(const VectorCall& call, const Vector& vector, Span range) {
  const auto begin = reinterpret_cast<std::uintptr_t>(vector.address);
  const std::uintptr_t size = element_size(call.row().scalar);
  const std::uintptr_t step = static_cast<std::uintptr_t>(stride(vector)) * size;
  if (range.end < begin + size) return {};
  const std::uintptr_t first = range.begin > begin ? (range.begin - begin + step - 1) / step : 0;
  const std::uintptr_t last = (range.end - size - begin) / step + 1;  // in the order of memory
  Elements found{static_cast<std::int64_t>(first), std::min(static_cast<std::int64_t>(last), call.n)};
  if (found.count() <= 0) return {};
  if (vector.increment < 0) found = {call.n - found.last, call.n - found.first};
  return found;
}

std::vector<Elements> elements_within(const VectorCall& call, const Vector& vector, std::span<const Span> ranges) {
  std::vector<Elements> runs;
  for (const Span& range : ranges)
    if (const Elements found = elements_within(call, vector, range); found.count() > 0) runs.push_back(found);
  if (vector.increment < 0) std::ranges::reverse(runs);
  return runs;
}

std::vector<Elements> common(const std::vector<Elements>& left, const std::vector<Elements>& right) {
  std::vector<Elements> both;
  for (std::size_t i = 0, j = 0; i < left.size() && j < right.size();) {
    const Elements run{std::max(left[i].first, right[j].first), std::min(left[i].last, right[j].last)};
    if (run.count() > 0) both.push_back(run);
    (left[i].last < right[j].last ? i : j) += 1;
  }
  return both;
}

/// The payload: a call without its addresses.
struct Payload {
  VectorRoutine routine;
  std::int64_t n;
  std::array<std::int64_t, 2> increments;
  std::array<double, 2> alpha;
};

operation::Intent intent(VectorKind kind, std::size_t vector) {
  using operation::Intent;
  if (kind == VectorKind::swap || kind == VectorKind::scal) return Intent::update;
  if (vector == 0) return Intent::read;
  return kind == VectorKind::copy ? Intent::write : Intent::update;
}

double real_operations(const VectorRoutineRow& row) {
  if (!has_factor(row.kind)) return 0;
  const bool real = !is_complex(row.scalar);
  const double product = real ? 1 : is_complex(row.factor) ? 6 : 2;
  const double sum = real ? 1 : 2;
  return row.kind == VectorKind::scal ? product : product + sum;
}

class VectorFrontEnd final : public operation::FrontEnd {
 public:
  constexpr VectorFrontEnd() = default;

  std::size_t routine_count() const override { return vector_routine_count; }
  const char* routine_name(std::size_t routine) const override { return vector_routine_table[routine].name; }
  std::string arguments(const operation::Operation& operation) const override {
    const VectorCall call = vector_call_of(operation);
    std::string text = fmt::format("n={} incx={}", call.n, call.x_and_y[0].increment);
    if (call.vectors().size() > 1) text += fmt::format(" incy={}", call.x_and_y[1].increment);
    return text;
  }
  std::vector<operation::Operation> pieces(const operation::Operation& operation, std::size_t) const override {
    return {operation};
  }
  // What is compared lies on the device (compare()).
  std::unique_ptr<operation::Verification> verification(const operation::Operation&, const operation::Host&,
                                                        operation::Effort) const override {
    return nullptr;
  }
};

constinit VectorFrontEnd the_vectors;

template <class Real>
struct Numbers {
  const Real* at;
  double operator[](std::int64_t i) const { return static_cast<double>(at[i]); }
};

/// The largest of a number's parts, so that a complex product is judged by all that goes into it.
template <class Real>
double magnitude(const void* numbers, std::int64_t element, std::int64_t parts) {
  const Numbers<Real> all{static_cast<const Real*>(numbers)};
  double largest = 0;
  for (std::int64_t part = 0; part < parts; ++part) largest = std::max(largest, std::abs(all[element * parts + part]));
  return largest;
}

template <class Real>
operation::Comparison compare_numbers(const VectorCall& call, const Vector& vector, const void* x, const void* y,
                                      const void* expected, const void* found) {
  const std::int64_t parts = is_complex(call.row().scalar) ? 2 : 1;
  const double alpha = std::max(std::abs(call.alpha[0]), std::abs(call.alpha[1]));
  const Numbers<Real> right{static_cast<const Real*>(expected)};
  const Numbers<Real> own{static_cast<const Real*>(found)};
  operation::Comparison result{.checked = true};
  constexpr double roundings = 8;
  result.bound = has_factor(call.row().kind) ? roundings * machine_epsilon(call.row().scalar) : 0;
  for (std::int64_t i = 0; i < call.n; ++i) {
    // In memory, the elements of a vector with a negative increment are in reverse order.
    const std::int64_t of_x = (vector.increment < 0) == (call.x_and_y[0].increment < 0) ? i : call.n - 1 - i;
    for (std::int64_t part = 0; part < parts; ++part) {
      const double one = right[i * parts + part];
      const double other = own[i * parts + part];
      if (one == other || (std::isnan(one) && std::isnan(other))) continue;
      const double scale = alpha * magnitude<Real>(x, of_x, parts) +
                           (call.row().kind == VectorKind::axpy ? magnitude<Real>(y, i, parts) : 0);
      const double difference = std::abs(one - other);
      const double error = std::isfinite(difference) && scale > 0 ? difference / scale : HUGE_VAL;
      if (error <= result.relative_error) continue;
      result.relative_error = error;
      result.column = i;
    }
  }
  return result;
}

}  // namespace

bool is_elementwise(const VectorCall& call) {
  if (call.n <= 0) return false;
  for (const Vector& vector : call.vectors())
    if (vector.increment == 0 || (vector.increment < 0 && call.row().kind == VectorKind::scal)) return false;
  return call.vectors().size() < 2 || !may_overlap(call);
}

bool is_unambiguous(const VectorCall& call) {
  if (!has_factor(call.row().kind)) return true;
  const auto& [real, imaginary] = call.alpha;
  return std::isfinite(real) && std::isfinite(imaginary) && (real != 0 || imaginary != 0);
}

VectorCall part_of(const VectorCall& call, std::int64_t first, std::int64_t last) {
  VectorCall part = call;
  part.n = last - first;
  const auto size = static_cast<std::int64_t>(element_size(call.row().scalar));
  for (Vector& vector : part.x_and_y) {
    const std::int64_t before = vector.increment > 0 ? first : call.n - last;
    if (vector.address != nullptr) vector.address = static_cast<char*>(vector.address) + before * stride(vector) * size;
  }
  return part;
}

std::vector<Elements> elements_within(const VectorCall& call, std::span<const Span> ranges, std::size_t max_runs) {
  std::vector<Elements> runs = elements_within(call, call.x_and_y[0], ranges);
  if (call.vectors().size() > 1) runs = common(runs, elements_within(call, call.x_and_y[1], ranges));
  // Elements of neighbouring runs of pages may follow each other.
  std::vector<Elements> joined;
  for (const Elements& run : runs)
    if (!joined.empty() && joined.back().last == run.first)
      joined.back().last = run.last;
    else
      joined.push_back(run);
  if (joined.size() > max_runs) {
    std::ranges::nth_element(joined, joined.begin() + static_cast<std::ptrdiff_t>(max_runs), std::ranges::greater{},
                             &Elements::count);
    joined.resize(max_runs);
    std::ranges::sort(joined, {}, &Elements::first);
  }
  return joined;
}

operation::Operation operation_of(const VectorCall& call) {
  const VectorRoutineRow& of = call.row();
  const Payload payload{call.routine, call.n, {call.x_and_y[0].increment, call.x_and_y[1].increment}, call.alpha};
  const auto number = static_cast<std::size_t>(call.routine);
  operation::Operation result(vectors(), static_cast<operation::RoutineId>(vectors().first_routine() + number),
                              payload);
  const auto n = static_cast<double>(call.n);
  result.work = {.flops = n * real_operations(of), .volume = n, .depth = 1, .memory_bound = true};
  result.outlives_call = true;
  for (std::size_t i = 0; i < call.vectors().size(); ++i) {
    const Vector& vector = call.vectors()[i];
    const bool column = stride(vector) == 1;
    result.add({.address = vector.address,
                .rows = column ? call.n : 1,
                .columns = column ? 1 : call.n,
                .leading_dimension = column ? call.n : stride(vector),
                .element_size = element_size(of.scalar),
                .intent = intent(of.kind, i)});
  }
  return result;
}

bool is_vector_call(const operation::Operation& operation) {
  return operation.has_payload<Payload>();
}

VectorCall vector_call_of(const operation::Operation& operation) {
  const auto payload = operation.payload<Payload>();
  VectorCall call{.routine = payload.routine, .n = payload.n, .alpha = payload.alpha};
  for (std::size_t i = 0; i < operation.operands().size(); ++i)
    call.x_and_y[i] = {operation.operands()[i].address, payload.increments[i]};
  return call;
}

operation::Comparison compare(const VectorCall& call, std::size_t vector, std::span<const VectorElements> before,
                              const VectorElements& expected, const VectorElements& found) {
  const bool single = call.row().scalar == Scalar::s || call.row().scalar == Scalar::c;
  return (single ? compare_numbers<float> : compare_numbers<double>)(call, call.vectors()[vector],
                                                                     before.front().data(), before.back().data(),
                                                                     expected.data(), found.data());
}

operation::FrontEnd& vectors() {
  return the_vectors;
}

}  // namespace blastoff::blas
