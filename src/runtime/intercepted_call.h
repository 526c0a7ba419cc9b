// What the runtime does with an intercepted call, wherever it is made.
#pragma once

#include <cstdint>

#include "intercept/dispatch.h"
#include "operation/operation.h"

namespace blastoff::runtime {

/// Ends the process as the dynamic loader ends a program that misses a symbol.
[[noreturn]] void end_without_original(const intercept::EntryPoint& entry);

/// Makes the call on the CPU, by the function that it would have reached without Blastoff.
void run_original(const intercept::InterceptedCall& intercepted);

/// What a call computes, also if a size is 0. The call is supported.
operation::Operation operation_of(const intercept::Parsed& parsed);

/// A number that alike calls share; 0 if no other call is known to be like this one.
std::uint64_t likeness_of(const intercept::InterceptedCall& intercepted, const intercept::Parsed* parsed);

}  // namespace blastoff::runtime
