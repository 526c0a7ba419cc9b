// Routines of level 1 that change vectors: swap, copy, scal and axpy. They run on a device only where their vectors
// are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blas/types.h"
#include "blas/vector_routine.h"
#include "operation/front_end.h"
#include "operation/operation.h"
#include "operation/verification.h"
#include "platform/span.h"

namespace blastoff::blas {

/// As BLAS takes it: the address is that of the first element in memory, also where the increment is negative.
struct Vector {
  void* address = nullptr;
  std::int64_t increment = 1;  ///< in elements
};

struct VectorCall {
  VectorRoutine routine{};
  std::int64_t n = 0;
  std::array<Vector, 2> x_and_y{};  ///< scal: only x
  std::array<double, 2> alpha{};    ///< exact: float converts to double and back without loss

  const VectorRoutineRow& row() const { return blas::row(routine); }
  std::span<const Vector> vectors() const { return std::span(x_and_y).first(vector_count(row().kind)); }
};

/// Whether each element of the result depends on the elements of the same number alone, in memory too: n is positive,
/// no increment is 0 (or negative in scal, which then does nothing), and no element of one vector lies in the other
/// one. Then parts can be computed one by one. (With overlapping vectors, the order of BLAS's loop counts.)
bool is_elementwise(const VectorCall& call);

/// Whether devices and all BLAS libraries agree about the call: alpha is finite and not 0. (Some libraries make zeros
/// of NaN where alpha is 0, others do not.)
bool is_unambiguous(const VectorCall& call);

/// The elements [first, last) of an elementwise call.
VectorCall part_of(const VectorCall& call, std::int64_t first, std::int64_t last);

/// A run of elements, [first, last).
struct Elements {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t count() const { return last - first; }
};

/// The runs of elements of an elementwise call, ascending, all of whose vectors lie within these ranges, which are
/// disjoint and ascending. At most `max_runs`: the longest ones.
std::vector<Elements> elements_within(const VectorCall& call, std::span<const platform::Span> ranges,
                                      std::size_t max_runs);

/// Each vector as a matrix of one row, or of one column where its elements follow each other.
operation::Operation operation_of(const VectorCall& call);
bool is_vector_call(const operation::Operation& operation);
/// The addresses are those of the operands.
VectorCall vector_call_of(const operation::Operation& operation);

/// The elements of an operand without gaps, in the order in which they lie in memory.
using VectorElements = std::vector<std::byte>;

/// Compares what a device has made of a vector with what the CPU has made of the same elements. `before`: the elements
/// of all vectors before the call. Numbers that are only moved must be equal.
operation::Comparison compare(const VectorCall& call, std::size_t vector, std::span<const VectorElements> before,
                              const VectorElements& expected, const VectorElements& found);

/// The front end of these routines.
operation::FrontEnd& vectors();

}  // namespace blastoff::blas
