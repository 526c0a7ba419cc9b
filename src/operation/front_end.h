// The interface of a front end: names, text, cutting and verification of its operations. BLAS is one front end.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "operation/host.h"
#include "operation/operation.h"
#include "operation/verification.h"

namespace blastoff::operation {

/// One constant object for each front end. Thread-safe.
class FrontEnd {
 public:
  /// Routines are numbered from 0 within a front end.
  virtual std::size_t routine_count() const = 0;
  virtual const char* routine_name(std::size_t routine) const = 0;

  /// See Operation::arguments().
  virtual std::string arguments(const Operation& operation) const = 0;

  /// See pieces(). Only called if the operation may be cut.
  virtual std::vector<Operation> pieces(const Operation& operation, std::size_t piece_bytes) const = 0;

  /// See blocks().
  virtual std::vector<std::vector<Operation>> blocks(const Operation& operation, std::size_t /*bytes*/) const {
    return {{operation}};
  }

  /// See parts().
  virtual std::vector<std::vector<Operation>> parts(const Operation& /*operation*/, int /*count*/) const { return {}; }

  /// Creates a verification before the operation runs; it is compared after the operation. `host` must outlive it.
  virtual std::unique_ptr<Verification> verification(const Operation& operation, const Host& host,
                                                     Effort effort) const = 0;

  /// The number of this front end's first routine, among the routines of all front ends.
  RoutineId first_routine() const { return first_routine_; }

 protected:
  constexpr FrontEnd() = default;
  ~FrontEnd() = default;

 private:
  friend void add_front_end(FrontEnd& front_end);
  RoutineId first_routine_ = 0;
};

/// Gives numbers to the front end's routines, after those of the front ends that were added before. Called for each
/// front end when the library is loaded. A front end that has its numbers keeps them.
void add_front_end(FrontEnd& front_end);

/// The largest total number of routines.
inline constexpr std::size_t max_routines = 384;
std::size_t routine_count();
const char* routine_name(RoutineId routine);

}  // namespace blastoff::operation
