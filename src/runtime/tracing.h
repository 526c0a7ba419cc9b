// Where --trace records the calls of this process, and those of its forked children.
#pragma once

#include <chrono>
#include <memory>

#include "config/settings.h"
#include "trace/tracer.h"

namespace blastoff::runtime {

/// Never destroyed, like the Process that owns it.
class Tracing {
 public:
  /// Calls with a smaller Work::volume than `min_volume` are only counted. `start`: the time at which seconds begin.
  Tracing(const config::Settings& settings, double min_volume, std::chrono::steady_clock::time_point start);

  bool wanted() const { return tracer_ != nullptr; }

  /// The tracer of the process in which this object was made; nullptr without --trace.
  trace::Tracer* of_process() const { return tracer_.get(); }

  /// The tracer of a forked child, which has a copy of this object. It writes a file of its own, made at the child's
  /// first call. nullptr without --trace, and in children that did not come from fork(), where allocating memory is
  /// never safe.
  trace::Tracer* of_child() const;

  /// To be called in each child, by the handler of pthread_atfork.
  static void begin_child();

 private:
  const config::Settings& settings_;
  const double min_volume_;
  const std::unique_ptr<trace::Tracer> tracer_;
};

}  // namespace blastoff::runtime
