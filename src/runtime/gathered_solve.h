// The solution of a problem that all processes of a grid have, by one of them (runtime/grid_root.h).
#pragma once

#include "platform/span.h"
#include "report/refusal.h"

namespace blastoff::runtime {

/// While an object lives, a call of this thread is the solution of a gathered problem. A device makes the call, or
/// nobody does: if the device refuses, all processes solve the problem together, which is faster than the CPU of this
/// process alone.
class GatheredSolve {
 public:
  /// `together`: seconds in which all processes would solve it together. `segment`: the memory
  /// that they share, in which it lies; empty: it has memory of its own.
  GatheredSolve(double together, platform::Span segment) : together_(together), segment_(segment) { running_ = this; }
  ~GatheredSolve() { running_ = nullptr; }
  GatheredSolve(const GatheredSolve&) = delete;
  GatheredSolve& operator=(const GatheredSolve&) = delete;

  /// nullptr if this thread solves no gathered problem.
  static GatheredSolve* running() { return running_; }

  double together() const { return together_; }
  platform::Span segment() const { return segment_; }

  void refuse(report::Refusal why) { refusal_ = why; }
  report::Refusal refusal() const { return refusal_; }

 private:
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local GatheredSolve* running_ = nullptr;
  const double together_;
  const platform::Span segment_;
  report::Refusal refusal_ = report::Refusal::none;
};

}  // namespace blastoff::runtime
