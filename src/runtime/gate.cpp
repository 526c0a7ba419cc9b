#include "runtime/gate.h"

#include <unistd.h>

#include "platform/threads.h"

namespace blastoff::runtime {

namespace {

using report::Refusal;
using Clock = std::chrono::steady_clock;

// Calls of this thread that are using the device. A handler of a synchronous signal may run inside them.
[[gnu::tls_model("initial-exec")]] constinit thread_local int own_calls_in_flight = 0;

}  // namespace

constinit Gate gate;

Gate::Entry::Entry() {
  gate.calls_in_flight_.fetch_add(1);
  ++own_calls_in_flight;
}

Gate::Entry::~Entry() {
  if (!stays_) gate.leave([] {});
}

void Gate::end_own_call() {
  --own_calls_in_flight;
}

Refusal Gate::refusal() const {
  if (switched_off_) return Refusal::switched_off;
  if (forked_) return Refusal::forked;
  if (confined_) return Refusal::confined;
  return exiting_ ? Refusal::exiting : Refusal::none;
}

bool Gate::become_forked_child() {
  if (forked_.exchange(true)) return false;
  own_calls_in_flight = 0;
  return true;
}

bool Gate::inside_a_call() {
  return own_calls_in_flight > 0 || platform::is_own_thread();
}

void Gate::wait_for_calls() const {
  const auto deadline = Clock::now() + longest_wait;
  while (!inside_a_call() && !idle() && Clock::now() < deadline) usleep(50);
}

}  // namespace blastoff::runtime
