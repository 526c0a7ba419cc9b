// Where --trace records the calls of this process, and those of its forked children.
#pragma once

#include <chrono>
#include <memory>

#include "config/settings.h"
#include "trace/tracer.h"

namespace blastoff::runtime {

/// Never destroyed, like the process that has it.
class Tracing {
 public:
  /// Calls with a smaller Work::volume than `least_volume` are counted only. `start`: from where seconds count.
  Tracing(const config::Settings& settings, double least_volume, std::chrono::steady_clock::time_point start);

  bool wanted() const { return tracer_ != nullptr; }

  /// Of the process in which this was made; nullptr without --trace.
  trace::Tracer* of_process() const { return tracer_.get(); }

  /// Of a child, in whose memory this is a copy: into a file of its own, made at the first call. nullptr without
  /// --trace, and in children that did not come from fork(): memory may never be allocated there.
  trace::Tracer* of_child() const;

  /// In each child, from the handler of pthread_atfork.
  static void begin_child();

 private:
  const config::Settings& settings_;
  const double least_volume_;
  const std::unique_ptr<trace::Tracer> tracer_;
};

}  // namespace blastoff::runtime
