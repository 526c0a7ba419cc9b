// What a process reports about itself, while it runs and at its end.
#include <unistd.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "device/open.h"
#include "intercept/cpu_libraries.h"
#include "platform/contained.h"
#include "platform/errno_guard.h"
#include "platform/fork_guard.h"
#include "platform/log.h"
#include "platform/process.h"
#include "platform/threads.h"
#include "report/context.h"
#include "report/counter_file.h"
#include "report/decisions.h"
#include "report/file.h"
#include "report/json.h"
#include "report/recorder.h"
#include "report/summary.h"
#include "report/text.h"
#include "report/timeline.h"
#include "runtime/block_engine.h"
#include "runtime/description.h"
#include "runtime/gate.h"
#include "runtime/loading.h"
#include "runtime/process.h"

namespace blastoff::runtime {

namespace {

using Clock = std::chrono::steady_clock;

/// Seconds from the start of `blastoff run` to the start of this process, if the launcher has started it directly; else
/// 0.
double seconds_of_launcher() {
  const std::string run = report::this_run();  // HOST:PID:TIME
  const std::size_t time = run.rfind(':');
  const std::size_t pid = time == std::string::npos || time == 0 ? std::string::npos : run.rfind(':', time - 1);
  if (pid == std::string::npos || run.substr(pid + 1, time - pid - 1) != std::to_string(getppid())) return 0;
  return platform::seconds_started_after(getppid());
}

}  // namespace

std::string Process::report_now() {
  std::string text;
  platform::undisturbed([&] {
    const platform::ForkGuard guard;
    const report::Cpu cpu = describe_cpu(intercept::cpu_libraries());
    const std::vector<report::UnseenFamily> unseen = describe_unseen();
    const auto lock = opener_.hold();
    report::Context context = describe();
    context.cpu = cpu;
    context.interception.unseen = unseen;
    context.ended = "";
    text = report::to_json(report::totals(), context);
  });
  return text;
}

report::Context Process::describe() {
  report::Context context = describe_process(settings_, opener_.failure(), loaded_at());
  // At the end of the process, a thread may still be looking for a model; it is not waited for.
  if (auto model = models_.try_describe()) context.machine_model = std::move(*model);
  if (report::explains_decisions()) context.decisions = report::dearest_decisions();
  if (!gate.forked()) context.device_opening = opener_.opening();
  if (!gate.forked() && !has_own_clock()) context.cpu_run = opener_.cpu_run();
  // A child was patched with its parent. A simulated clock stands still meanwhile.
  if (!gate.forked() && !has_own_clock())
    context.cost_seconds =
        seconds_of_launcher() + context.interception.seconds + seconds_at_end_ + opener_.seconds_waited();
  DeviceSet* const devices = opener_.devices();
  if (devices && !gate.forked() && !Gate::inside_a_call()) devices->describe(context);
  if (!gate.forked() && !Gate::inside_a_call()) context.blocks = describe_blocks();
  return context;
}

/// Without a launcher, the counters are kept in a file beside the report.
void Process::keep_counters() {
  if (settings_.report.empty()) return;
  const std::string path = report::report_path(settings_.report, identity(settings_.arguments));
  if (path.empty()) return;
  report::keep_counters_beside(path);
  keep_interceptors();
}

/// Writes the description for those who read the counters while the process runs, or after it has been killed.
void Process::keep_description() {
  if (report::counters_are_kept()) report::keep_description(report::to_json(report::totals(), describe()));
}

/// Writes the description at most once a second, and so rarely that it takes at most a five hundredth of the time. The
/// counters do not hold what devices and blocks have done.
void Process::refresh_description() {
  if (!report::counters_are_kept()) return;
  constexpr int pause_for_cost = 500;
  const Clock::time_point begin = Clock::now();
  Clock::time_point due = description_due_;
  if (begin < due || !description_due_.compare_exchange_strong(due, Clock::time_point::max())) return;
  platform::contained([&] {  // if that fails, the description before it stays
    const platform::ForkGuard guard;
    keep_description();
  });
  const Clock::time_point end = Clock::now();
  description_due_ = end + std::max(min_description_pause, pause_for_cost * (end - begin));
}

/// `blastoff run` sums up the processes whose counters it keeps. `any_device`: a device was used.
bool Process::wants_summary(bool any_device, bool worked) const {
  const bool alone = !report::run_goes_on();
  const bool has_reason = any_device || !opener_.failure().empty() || settings_.device == "none";
  switch (settings_.summary) {
    case config::SummaryMode::automatic: return alone && has_reason && worked;
    case config::SummaryMode::always: return alone;
    case config::SummaryMode::each: return worked;
    case config::SummaryMode::never: break;
  }
  return false;
}

/// Whether a report or a summary will tell of this process if it has made calls.
bool Process::is_read_of() const {
  return report::counters_are_kept() || !settings_.report.empty() || wants_summary(opener_.devices() != nullptr, true);
}

void Process::end() {
  if (in_forked_child() && !gate.forked()) return;  // a guest in its parent's memory has nothing to report
  const report::Totals totals = report::totals();
  report::Context context = describe();
  platform::contained([&] { opener_.keep_times(totals, context); });
  platform::contained([&] { opener_.keep_rates(totals, context); });
  const bool worked =
      report::sum_over_routines(totals).calls > 0 || context.blocks || !context.interception.counted.empty();
  const bool kept = report::counters_are_kept();
  const bool reported = worked && (kept || !settings_.report.empty());
  const bool summed_up = wants_summary(context.device_used, worked);
  // Looking for the libraries takes milliseconds, so it is done only if somebody reads the result.
  if (reported || (worked && summed_up))
    platform::contained([&] { context.cpu = describe_cpu(intercept::cpu_libraries()); });
  if (kept || reported || summed_up) platform::contained([&] { context.interception.unseen = describe_unseen(); });
  if (trace::Tracer* const tracing = tracer()) tracing->finish(totals);
  if (kept && (worked || !context.interception.unseen.empty()))
    report::keep_description(report::to_json(totals, context));
  if (reported) {
    context.timeline = report::timeline();  // the longest part of a report; the description above does without it
    // The launcher also knows of the calls of a confined process that are still to come.
    const bool leaves_it = settings_.report.empty() || (gate.confined() && report::run_goes_on());
    const bool written =
        !leaves_it && report::write_report(settings_.report, report::to_json(totals, context), context);
    if (written) report::drop_counters_beside();
  }
  if (!gate.confined()) report::keep_end();
  if (summed_up) {
    if (!context.device_used) platform::contained([&] { context.device_absence = device::absence(settings_.device); });
    const std::string text = report::to_text(totals, context);
    platform::write_to_stderr(text.data(), text.size());
  }
  const std::string decisions = report::to_text(context.decisions);
  platform::write_to_stderr(decisions.data(), decisions.size());
}

}  // namespace blastoff::runtime
