#include "runtime/intercepted_call.h"

#include <unistd.h>

#include "abi/reentry.h"
#include "platform/log.h"
#include "platform/own_arithmetic.h"
#include "runtime/gathered_solve.h"

namespace blastoff::runtime {

void end_without_original(const intercept::EntryPoint& entry) {
  platform::log_line("%s: this call has to run on the CPU, but no library that defines it is loaded; the process ends",
                     entry.symbol);
  // The dynamic loader ends a program that misses a symbol with this status.
  _exit(127);
}

void run_original(const intercept::InterceptedCall& intercepted) {
  if (!intercepted.original.function) end_without_original(intercepted.entry);
  if (intercepted.composed) return intercepted.raw(intercepted.original.function);
  abi::run_as_original([&] { intercepted.raw(intercepted.original.function); });
}

operation::Operation operation_of(const intercept::Parsed& parsed) {
  const platform::OwnArithmetic ours;
  const operation::Operation operation = parsed.make_operation();
  ours.end();
  return operation;
}

std::uint64_t likeness_of(const intercept::InterceptedCall& intercepted, const intercept::Parsed* parsed) {
  if (parsed == nullptr || parsed->likeness == nullptr || parsed->trivial || !intercepted.original.function) return 0;
  return GatheredSolve::running() == nullptr ? parsed->likeness(parsed->call) + intercepted.routine_id() : 0;
}

}  // namespace blastoff::runtime
