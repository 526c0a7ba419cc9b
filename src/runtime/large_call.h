// Calls that are not small: judged, then made on a device (run_on_device.cpp) or by the CPU (run_on_cpu.cpp), and
// recorded.
#pragma once

#include "decide/decider.h"
#include "intercept/dispatch.h"
#include "operation/operation.h"
#include "report/record.h"
#include "report/wall_time.h"
#include "runtime/call_stopwatch.h"
#include "runtime/traced_call.h"

namespace blastoff::runtime {

/// Makes the call. `parsed`: nullptr if the arguments were not understood.
void make_large_call(const intercept::InterceptedCall& intercepted, const intercept::Parsed* parsed);

/// A call that has been judged. Nothing here has a destructor, since the program may leave an original by longjmp, and
/// the thread may be cancelled in it.
struct LargeCall {
  const intercept::InterceptedCall& intercepted;
  const intercept::Parsed* parsed;
  const operation::Operation& operation;
  bool understood;  ///< `operation` is what the call computes
  bool judged;      ///< what becomes of it teaches the decision something
  const report::CallBegin& begin;
  report::Record& record;
  const decide::PredictedSeconds& predicted;
  TracedCall traced;
  CallStopwatch stopwatch{};
};

/// Makes the call on a device. If there is none, or it refuses, returns false, and record.refusal says why.
bool run_on_device(LargeCall& call);
/// Makes the call by its original.
void run_on_cpu(LargeCall& call);

/// Whether this thread is inside a call for which its rank must agree with others (Process::must_agree_with_ranks).
/// `frame`: the frame of a function that makes a call now.
bool inside_agreeing_call(const void* frame);

/// Counts the call, which took `seconds`.
void count(LargeCall& call, double seconds);
/// For --explain: describes a judged call that is over.
void explain(const LargeCall& call);
/// Says that an exception has ended our work on a call that may still be made.
report::Refusal out_of_memory();

}  // namespace blastoff::runtime
