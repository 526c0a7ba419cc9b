// A computation on matrices, independent of the library that asks for it and of the device that runs it: operands with
// intents, small vectors in host memory, the amount of work, and a payload that only its front end and the executors of
// its kind interpret.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "operation/operand.h"

namespace blastoff::operation {

class FrontEnd;

/// The number of a routine among the routines of all front ends; see operation/front_end.h.
using RoutineId = std::uint16_t;

/// How an operation may be cut into independent pieces, and at what cost.
enum class Cutting : std::uint8_t {
  none,          ///< cannot be cut
  strips,        ///< strips of the result
  wide_strips,   ///< strips of the result; narrow strips compute much less efficiently (solves)
  one_triangle,  ///< blocks of a triangular result; each reads several parts of its operands
};

/// The amount of work, for the decision between CPU and device.
struct Work {
  double flops = 0;   ///< floating-point operations
  double volume = 0;  ///< product of the three sides of the operation: (m n k) of a matrix product
  double depth = 0;   ///< multiplications per element of the result
  /// True if each element of the matrix is used about once (level-2 BLAS): the operation takes as long as reading its
  /// matrix. Its volume is that of a product of matrices that gains as much from a device.
  bool memory_bound = false;
};

/// Host memory besides the operands that an executor reads or writes itself: pivots, eigenvalues, info.
struct HostVector {
  void* address = nullptr;
  std::size_t bytes = 0;  ///< upper limit; 0 if the size is known only after the execution
  Intent intent = Intent::write;
};

/// Matrices are column-major. Copies are cheap: an Operation is made for every call that is not small.
class Operation {
 public:
  static constexpr std::size_t max_operands = 8;
  static constexpr std::size_t max_vectors = 8;
  static constexpr std::size_t max_payload_bytes = 112;

  Operation() = default;

  /// `payload` is any trivially copyable type; payload<T>() gives it back.
  template <class Payload>
  Operation(const FrontEnd& front_end, RoutineId routine, const Payload& payload)
      : front_end_(&front_end), routine_(routine), payload_type_(type_of<Payload>()) {
    static_assert(std::is_trivially_copyable_v<Payload> && sizeof(Payload) <= max_payload_bytes);
    static_assert(alignof(Payload) <= alignof(std::max_align_t));
    std::memcpy(payload_, &payload, sizeof payload);
  }

  const FrontEnd& front_end() const { return *front_end_; }
  RoutineId routine() const { return routine_; }

  /// The name of the routine: "dgemm".
  const char* name() const;
  /// Options and sizes in the routine's own order: "T N m=32 n=2400 k=93536".
  std::string arguments() const;

  Work work;
  Cutting cutting = Cutting::none;

  /// A number that is equal for operations that take the same time. Such operations are decided by measured times. 0:
  /// the operation is judged by its work.
  std::uint64_t shape = 0;

  /// Only the execution shows whether there is a result: a matrix may be singular. If there is none, host memory must
  /// be unchanged.
  bool may_fail = false;
  /// Whether exact arithmetic has several results, all of them right. Eigenvectors and singular vectors may have
  /// another sign or phase, and any basis of an eigenspace is as good.
  bool has_several_results = false;
  /// Once it has been queued, the device needs nothing of the host for it any more: no argument, no buffer and no call.
  bool outlives_call = false;
  /// What lies between the columns of an operand may have been allocated apart from it.
  bool gaps_are_others = false;

  /// `origin`: for a piece, the index of the operand of the whole operation to which this operand belongs.
  void add(const Operand& operand, std::size_t origin) {
    origins_[operand_count_] = static_cast<std::uint8_t>(origin);
    operands_[operand_count_++] = operand;
  }
  void add(const Operand& operand) { add(operand, operand_count_); }

  std::span<Operand> operands() { return {operands_.data(), operand_count_}; }
  std::span<const Operand> operands() const { return {operands_.data(), operand_count_}; }
  std::size_t origin(std::size_t index) const { return origins_[index]; }

  /// Calls visit(index, operand) for every operand that is written. There may be several.
  template <class Visit>
  void each_result(Visit&& visit) const {
    for (std::size_t i = 0; i < operand_count_; ++i)
      if (writes(operands_[i].intent)) visit(i, operands_[i]);
  }

  /// Bytes of all rows and columns of the results, even if only triangles are written.
  std::size_t result_bytes() const {
    std::size_t bytes = 0;
    each_result([&](std::size_t, const Operand& result) { bytes += result.payload_bytes(); });
    return bytes;
  }

  /// Whether the operation reads an operand that it writes. Such an operation cannot be repeated after a part of its
  /// result has been written.
  bool updates() const {
    bool updated = false;
    each_result([&](std::size_t, const Operand& result) { updated = updated || reads(result.intent); });
    return updated;
  }

  void add(const HostVector& vector) { vectors_[vector_count_++] = vector; }
  std::span<const HostVector> vectors() const { return {vectors_.data(), vector_count_}; }

  template <class Payload>
  bool has_payload() const {
    return payload_type_ == type_of<Payload>();
  }
  /// Only if has_payload<Payload>().
  template <class Payload>
  Payload payload() const {
    Payload value;
    std::memcpy(static_cast<void*>(&value), payload_, sizeof value);
    return value;
  }

 private:
  template <class>
  static constexpr char type_tag = 0;
  template <class Payload>
  static constexpr const void* type_of() {
    return &type_tag<Payload>;
  }

  const FrontEnd* front_end_ = nullptr;
  RoutineId routine_ = 0;
  std::uint8_t operand_count_ = 0;
  std::uint8_t vector_count_ = 0;
  std::array<std::uint8_t, max_operands> origins_{};
  std::array<Operand, max_operands> operands_{};
  std::array<HostVector, max_vectors> vectors_{};
  const void* payload_type_ = nullptr;
  alignas(std::max_align_t) std::byte payload_[max_payload_bytes] = {};
};

/// Cuts an operation into pieces over host addresses. Their results are disjoint, cover the result exactly, and do not
/// depend on each other. Each piece has about `piece_bytes` of results in total. Never empty.
std::vector<Operation> pieces(const Operation& operation, std::size_t piece_bytes);

/// Cuts an operation that does not fit `bytes` of device memory into smaller ones. Returns series of operations. Made
/// in this order, the series do the same as the operation; each series finds the results of the earlier series in host
/// memory. The operations of one series do not depend on each other. The operands that an operation needs whole take at
/// most half of `bytes`. Returns {{operation}} if the operation fits or cannot be cut. Neither the list nor a series is
/// ever empty.
std::vector<std::vector<Operation>> blocks(const Operation& operation, std::size_t bytes);

/// Cuts an operation into at most `count` parts of about equal work, which may run at the same time: their results are
/// disjoint and cover the result exactly, and no part reads what another part writes. A part is one operation, or a few
/// operations that are made in this order. The cut depends on shapes and addresses alone. Empty if the operation cannot
/// be cut.
std::vector<std::vector<Operation>> parts(const Operation& operation, int count);

}  // namespace blastoff::operation
