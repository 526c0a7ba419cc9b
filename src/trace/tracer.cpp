#include "trace/tracer.h"

#include <algorithm>
#include <new>
#include <utility>

#include "platform/log.h"
#include "report/file.h"
#include "trace/lines.h"

namespace blastoff::trace {
namespace {

std::atomic<int> threads_seen{0};
[[gnu::tls_model("initial-exec")]] constinit thread_local int own_number = -1;

int thread_number() {
  if (own_number < 0) own_number = threads_seen.fetch_add(1);
  return own_number;
}

}  // namespace

void Tracer::give_up() {
  if (given_up_.exchange(true)) return;
  platform::log_line("out of memory: the trace ends here");
}

/// To be called with the lock held. Returns false if there is no file.
bool Tracer::begin_file(bool may_track) {
  if (file_) return true;
  std::unique_ptr<tracking::PageTracker> tracker;
  if (may_track)
    if (auto opened = tracking::open_page_tracker(setup_.tracker)) tracker = std::move(*opened);
  writes_ = std::make_unique<Writes>(std::move(tracker));
  const std::string header = header_line(setup_, writes_->method()) + "\n";
  const std::string path = report::begin_file(setup_.pattern, header, setup_.context);
  if (path.empty()) {
    platform::log_line("cannot write a trace to %.400s", setup_.pattern.c_str());
    given_up_ = true;
    return false;
  }
  file_ = std::make_unique<File>(path, header.size(), setup_.limit, setup_.may_end_any_time);
  return true;
}

Tracer::Call* Tracer::begin(const operation::Operation& operation, const void* caller) {
  if (given_up_) return nullptr;
  const std::lock_guard lock(mutex_);
  try {
    if (!begin_file(setup_.may_track)) return nullptr;
    if (!file_->takes_next()) {
      writes_->pass_over(operation);
      return nullptr;
    }
    auto call = std::make_unique<Call>();
    call->weight = file_->weight();
    call->caller = caller;
    call->found = writes_->before(operation);
    call->start = seconds();
    return call.release();
  } catch (const std::bad_alloc&) {
    give_up();
  }
  return nullptr;
}

void Tracer::end(Call* call, const operation::Operation& operation, std::optional<double> seconds, double elapsed) {
  const std::unique_ptr<Call> ended(call);
  if (!ended || given_up_) return;
  const std::lock_guard lock(mutex_);
  try {
    writes_->after(operation, ended->found.asked);
    // It is one call on all ranks, whose files may have grown differently, so it cannot stand for others.
    if (!ended->distributed.empty() && ended->weight > 1) return;
    file_->append(call_line(*ended, operation, thread_number(), seconds, elapsed));
  } catch (const std::bad_alloc&) {
    give_up();
  }
}

void Tracer::finish(const report::Totals& totals) {
  if (given_up_) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);  // does not wait for a thread that is still recording
  if (!lock) return;
  try {
    const auto called = [](const report::RoutineTotals& routine) { return routine.calls > 0; };
    if (!file_ && (std::ranges::none_of(totals.routines, called) || !begin_file(false))) return;
    file_->append(end_line(totals, seconds()));
    file_->flush();
  } catch (const std::bad_alloc&) {
    give_up();
  }
}

}  // namespace blastoff::trace
