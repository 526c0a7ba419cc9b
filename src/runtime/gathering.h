// Calls that all processes of a grid make together (ScaLAPACK's eigensolvers): whether this process solves them for
// all.
#pragma once

#include "report/refusal.h"

namespace blastoff::runtime {

/// While one lives, a call of this thread is the solution of a gathered problem: it is made on a device, or not at all.
/// If a device refuses, all processes solve the problem together, sooner than the CPU of this one alone would.
class GatheredSolve {
 public:
  GatheredSolve() { running_ = this; }
  ~GatheredSolve() { running_ = nullptr; }
  GatheredSolve(const GatheredSolve&) = delete;
  GatheredSolve& operator=(const GatheredSolve&) = delete;

  /// nullptr: none.
  static GatheredSolve* running() { return running_; }

  void refuse(report::Refusal why) { refusal_ = why; }
  report::Refusal refusal() const { return refusal_; }

 private:
  [[gnu::tls_model("initial-exec")]] static constinit thread_local GatheredSolve* running_;
  report::Refusal refusal_ = report::Refusal::none;
};

}  // namespace blastoff::runtime
