// Where every intercepted call goes next. This module only declares dispatch(); runtime/dispatch.cpp defines it.
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

/// An intercepted call on its way.
struct Visit {
  const EntryPoint& entry;
  const Original& original;  ///< what would have run
  const RawArguments& raw;
  const operation::FrontEnd& front_end;
  std::size_t routine;                                     ///< number within the front end
  std::unique_ptr<operation::Host> (*host)(const Visit&);  ///< the original, for any operation of its kind
  const void* caller = nullptr;                            ///< where the call returns to
  bool composed = false;  ///< the original calls other routines, which are intercepted in their turn

  operation::RoutineId routine_id() const {
    return static_cast<operation::RoutineId>(front_end.first_routine() + routine);
  }
};

/// What the front end found in the arguments. It is computed before an operation is made, because most calls are small
/// and need none.
struct Parsed {
  bool valid = false;    ///< the standard allows the arguments
  bool trivial = false;  ///< there is nothing to compute
  double volume = 0;     ///< operation::Work
  double flops = 0;
  const void* call = nullptr;
  operation::Operation (*operation)(const void* call) = nullptr;
  bool supported = true;  ///< there is an operation for this form of the call
  /// The same for calls that differ in nothing by which they are judged, unless it is what is known of their matrices.
  /// nullptr: none are alike.
  std::uint64_t (*likeness)(const void* call) = nullptr;

  operation::Operation make_operation() const { return operation(call); }
};

/// Called for every intercepted call, on the program's thread. `parsed` is nullptr if the arguments cannot be
/// understood (an unknown option letter): the original reports that. Returns when the result is in the program's
/// memory.
void dispatch(const Visit& visit, const Parsed* parsed);

/// The first part of dispatch() alone, where the arguments have not been read yet: runs the original if a call of that
/// volume is below the threshold. False: it has not been made.
bool dispatch_if_small(const Visit& visit, double volume, double flops);

/// In place of dispatch() for a call that all processes of a grid make together, none of them without the others.
void dispatch_distributed(const Visit& visit, const scalapack::Call& call);

}  // namespace blastoff::intercept
