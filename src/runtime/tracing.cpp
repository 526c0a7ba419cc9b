#include "runtime/tracing.h"

#include <unistd.h>

#include <atomic>
#include <cmath>
#include <new>
#include <utility>

#include "report/file.h"
#include "runtime/description.h"
#include "runtime/device_choice.h"

namespace blastoff::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// The forked child that this process is, if it is one.
struct Child {
  std::atomic<pid_t> pid{0};  ///< if it is another process's number, fork() has not made this process
  Clock::time_point forked_at;
  std::atomic<trace::Tracer*> tracer{nullptr};  ///< set at its first call
};
Child child;

trace::Setup setup_of(const config::Settings& settings, double min_volume, Clock::time_point start) {
  return {
      .pattern = report::report_pattern(settings.trace, ".trace"),
      .limit = settings.trace_limit.bytes,
      .floor_volume = min_volume,
      .min_size = settings.min_size.value_or(std::llround(std::ceil(std::cbrt(min_volume)))),
      .may_track = settings.device == "none" && settings.tracker != config::TrackerName::none,
      .tracker = tracker_kind(settings.tracker),
      .context = identity(settings.arguments),
      .start = start,
  };
}

std::unique_ptr<trace::Tracer> create_tracer(const config::Settings& settings, double min_volume,
                                             Clock::time_point start) {
  if (settings.trace.empty()) return nullptr;
  return std::make_unique<trace::Tracer>(setup_of(settings, min_volume, start));
}

/// Does not track memory: a child of fork has none of its parent's trackers.
std::unique_ptr<trace::Tracer> create_tracer_of_child(const config::Settings& settings, double min_volume) {
  trace::Setup setup = setup_of(settings, min_volume, child.forked_at);
  setup.pattern = report::pattern_of_child(setup.pattern, setup.context);
  setup.may_track = false;
  setup.may_end_any_time = true;
  return std::make_unique<trace::Tracer>(std::move(setup));
}

}  // namespace

Tracing::Tracing(const config::Settings& settings, double min_volume, Clock::time_point start)
    : settings_(settings), min_volume_(min_volume), tracer_(create_tracer(settings, min_volume, start)) {}

void Tracing::begin_child() {
  child.tracer = nullptr;  // the tracer of its parent, if that was a child too
  child.forked_at = Clock::now();
  child.pid = getpid();
}

trace::Tracer* Tracing::of_child() const {
  if (!wanted() || child.pid != getpid()) return nullptr;
  trace::Tracer* tracer = child.tracer;
  if (tracer != nullptr) return tracer;
  try {
    auto made = create_tracer_of_child(settings_, min_volume_);
    return child.tracer.compare_exchange_strong(tracer, made.get()) ? made.release() : tracer;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace blastoff::runtime
