// --trace: records a call that is not small, beginning before it is made.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "operation/operation.h"
#include "platform/threads.h"
#include "runtime/callers_environment.h"
#include "runtime/process.h"

namespace blastoff::runtime {

/// Has no destructor, since the thread may be cancelled during the call.
class TracedCall {
 public:
  TracedCall(const operation::Operation& operation, const void* caller, bool judged) : operation_(operation) {
    Process* const process = judged ? Process::existing() : nullptr;
    if (process == nullptr || !process->traces()) return;
    apart([&] {
      tracer_ = process->tracer();
      if (tracer_ != nullptr) call_ = tracer_->begin(operation_, caller);
    });
  }

  bool is_recorded() const { return call_ != nullptr; }
  /// Where the matrices of a call on the device were. To be called while nothing can interrupt the thread.
  void set_places(std::string places) {
    if (call_ != nullptr) call_->places = std::move(places);
  }

  /// Tells that all ranks of a grid make the call. `text`: returns Call::distributed.
  template <class Text>
  void set_distributed(const Text& text) {
    if (call_ == nullptr) return;
    apart([&] { call_->distributed = text(); });
  }

  /// `seconds` and `elapsed` as in Tracer::end().
  void end(std::optional<double> seconds, double elapsed) {
    if (tracer_ == nullptr) return;
    apart([&] { tracer_->end(call_, operation_, seconds, elapsed); });
  }

 private:
  template <class Body>
  static void apart(const Body& body) {
    platform::undisturbed([&] {
      const CallersEnvironment environment;
      body();
    });
  }

  const operation::Operation& operation_;
  trace::Tracer* tracer_ = nullptr;
  trace::Tracer::Call* call_ = nullptr;
};

}  // namespace blastoff::runtime
