// dispatch() receives every intercepted call. This module only declares it; runtime/dispatch.cpp defines it.
#pragma once

#include <memory>

#include "intercept/original.h"
#include "intercept/routine_table.h"
#include "operation/front_end.h"

namespace blastoff::scalapack {
class Call;
}

namespace blastoff::intercept {

/// Calls an original with exactly the arguments that the program passed.
struct RawArguments {
  void (*invoke)(const void* self, void* original);
  const void* self;
  void operator()(void* original) const { invoke(self, original); }
};

/// An intercepted call.
struct InterceptedCall {
  const EntryPoint& entry;
  const Original& original;  ///< the function that would have run without Blastoff
  const RawArguments& raw;
  const operation::FrontEnd& front_end;
  std::size_t routine;                                               ///< number within the front end
  std::unique_ptr<operation::Host> (*host)(const InterceptedCall&);  ///< makes the original callable for any operation
                                                                     ///< of its kind
  const void* caller = nullptr;                                      ///< return address of the call
  bool composed = false;  ///< the original calls other routines, whose calls are also intercepted

  operation::RoutineId routine_id() const {
    return static_cast<operation::RoutineId>(front_end.first_routine() + routine);
  }
};

/// What the front end found in the arguments. It is computed before an operation is made, because most calls are small
/// and need none.
struct Parsed {
  bool valid = false;    ///< the standard allows the arguments
  bool trivial = false;  ///< there is nothing to compute
  double volume = 0;     ///< see operation::Work
  double flops = 0;
  const void* call = nullptr;
  operation::Operation (*operation)(const void* call) = nullptr;
  bool supported = true;  ///< the device can compute this form of the call
  /// Returns a number that is equal for calls that are judged alike, apart from the state of their matrices on the
  /// device. nullptr: no calls are alike.
  std::uint64_t (*likeness)(const void* call) = nullptr;

  operation::Operation make_operation() const { return operation(call); }
};

/// Called for every intercepted call, on the program's thread. `parsed` is nullptr if the arguments cannot be
/// understood (an unknown option letter); the original then reports the error. When dispatch() returns, the result is
/// in the program's memory.
void dispatch(const InterceptedCall& intercepted, const Parsed* parsed);

/// The first part of dispatch() for a call whose arguments have not been read yet. Runs the original if a call of that
/// volume is below the threshold. Returns false if it has not run the original.
bool dispatch_if_small(const InterceptedCall& intercepted, double volume, double flops);

/// The quickest form of dispatch_if_small(), for a call whose original is known. Returns true if a call of that volume
/// is below the threshold and need not be timed. The call is counted then, and the caller runs the original as
/// dispatch() would: nothing else is left to do.
bool counted_as_small(operation::RoutineId routine, double volume, double flops);

/// Replaces dispatch() for a call that all processes of a grid make together. None of them can make it without the
/// others.
void dispatch_distributed(const InterceptedCall& intercepted, const scalapack::Call& call);

}  // namespace blastoff::intercept
