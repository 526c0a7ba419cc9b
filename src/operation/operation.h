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

/// A routine among those of all front ends; see operation/front_end.h.
using RoutineId = std::uint16_t;

/// How an operation may be cut into independent pieces, and what that costs.
enum class Cutting : std::uint8_t {
  none,          ///< not at all
  strips,        ///< of the result
  wide_strips,   ///< of the result; narrow ones compute much less efficiently (solves)
  one_triangle,  ///< blocks of a triangular result; each reads several parts of its operands
};

/// The amount of work, for the decision between CPU and device.
struct Work {
  double flops = 0;   ///< floating-point operations
  double volume = 0;  ///< product of the three sides of the operation: (m n k) of a matrix product
  double depth = 0;   ///< multiplications for an element of the result
  /// Each element of the matrix is used about once (level-2 BLAS): such an operation takes as long as its matrix takes
  /// to be read. Its volume says which product of matrices is as much worth a device.
  bool memory_bound = false;
};

/// Host memory that an executor reads or fills itself, apart from the operands: pivots, eigenvalues, info.
struct HostVector {
  void* address = nullptr;
  std::size_t bytes = 0;  ///< at most; 0 where only the execution shows how many
  Intent intent = Intent::write;
};

/// Matrices are column-major. Copies are cheap: an Operation is made for every call that is not small.
class Operation {
 public:
  static constexpr std::size_t most_operands = 8;
  static constexpr std::size_t most_vectors = 8;
  static constexpr std::size_t most_payload_bytes = 112;

  Operation() = default;

  /// `payload` is any trivially copyable type; payload<T>() gives it back.
  template <class Payload>
  Operation(const FrontEnd& front_end, RoutineId routine, const Payload& payload)
      : front_end_(&front_end), routine_(routine), payload_type_(type_of<Payload>()) {
    static_assert(std::is_trivially_copyable_v<Payload> && sizeof(Payload) <= most_payload_bytes);
    static_assert(alignof(Payload) <= alignof(std::max_align_t));
    std::memcpy(payload_, &payload, sizeof payload);
  }

  const FrontEnd& front_end() const { return *front_end_; }
  RoutineId routine() const { return routine_; }

  /// "dgemm".
  const char* name() const;
  /// Options and sizes in the routine's own order: "T N m=32 n=2400 k=93536".
  std::string arguments() const;

  Work work;
  Cutting cutting = Cutting::none;

  /// The same for operations that take the same time, for decisions by measured times; 0: it is judged by its work.
  std::uint64_t shape = 0;

  /// Only its execution shows whether there is a result: a matrix may be singular. Then nothing of host memory may have
  /// changed.
  bool may_fail = false;

  /// `origin`: for a piece, the index of the whole operation's operand of which this one is a part.
  void add(const Operand& operand, std::size_t origin) {
    origins_[operand_count_] = static_cast<std::uint8_t>(origin);
    operands_[operand_count_++] = operand;
  }
  void add(const Operand& operand) { add(operand, operand_count_); }

  std::span<Operand> operands() { return {operands_.data(), operand_count_}; }
  std::span<const Operand> operands() const { return {operands_.data(), operand_count_}; }
  std::size_t origin(std::size_t index) const { return origins_[index]; }

  /// Calls visit(index, operand) for every operand that is written: a result. There may be several.
  template <class Visit>
  void each_result(Visit&& visit) const {
    for (std::size_t i = 0; i < operand_count_; ++i)
      if (writes(operands_[i].intent)) visit(i, operands_[i]);
  }

  /// Bytes of the results' rows and columns, whatever their triangles.
  std::size_t result_bytes() const {
    std::size_t bytes = 0;
    each_result([&](std::size_t, const Operand& result) { bytes += result.payload_bytes(); });
    return bytes;
  }

  /// Whether it reads what it writes: then it cannot be made again once a part of that has been written.
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
  /// Only where has_payload<Payload>().
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
  std::array<std::uint8_t, most_operands> origins_{};
  std::array<Operand, most_operands> operands_{};
  std::array<HostVector, most_vectors> vectors_{};
  const void* payload_type_ = nullptr;
  alignas(std::max_align_t) std::byte payload_[most_payload_bytes] = {};
};

/// Cuts an operation into pieces over host addresses whose results are disjoint, cover the result exactly, and do not
/// depend on each other, each of about `piece_bytes` of all results together. Never empty.
std::vector<Operation> pieces(const Operation& operation, std::size_t piece_bytes);

/// Cuts an operation that does not fit `bytes` of device memory into smaller ones, in series that do the same when they
/// are made in this order, each with the results of those before it in host memory. The operations of one series do not
/// depend on each other. What one needs whole takes at most half of `bytes`. {{operation}} where that is not possible,
/// or where it fits. Never empty, and no series is.
std::vector<std::vector<Operation>> blocks(const Operation& operation, std::size_t bytes);

/// Cuts an operation into at most `count` parts of about equal work, which may be made at the same time: their results
/// are disjoint and cover the result exactly, and no part reads what another writes. A part is one operation, or a few
/// that are to be made in this order. The cut depends on shapes and addresses alone. Empty where it cannot be cut.
std::vector<std::vector<Operation>> parts(const Operation& operation, int count);

}  // namespace blastoff::operation
