// Results that stay where they were computed. The host's pages are given up; whoever touches one first, a thread of the
// program or the kernel on its behalf, waits until the pager has filled it from the place that has the only copy.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "device/address.h"
#include "ledger/left_results.h"
#include "ledger/states.h"
#include "platform/event_lock.h"
#include "platform/results_gauge.h"
#include "platform/worker_pool.h"
#include "tracking/absent_pages.h"

namespace blastoff::ledger {

/// Reads the copies of one place, and completes them.
class PageSource {
 public:
  virtual ~PageSource() = default;

  static constexpr std::size_t max_bytes = std::size_t{2} << 20;

  /// Copies device memory to a buffer, run behind run, for the caller until release(). At most max_bytes together.
  /// nullptr: the device is lost. Thread-safe.
  virtual const void* read(std::span<const PagesOnDevice> runs) = 0;
  virtual void release(const void* buffer) = 0;

  /// Copies host memory to the device, of max_bytes together at most. False: the device is lost. Thread-safe.
  virtual bool write(std::span<const device::Run> runs) = 0;
};

/// Thread-safe. A thread that may hold a lock of the program's allocator is never made to wait for it: who leaves a
/// result sees to that.
class Pager final : private tracking::AbsentPages::Filler {
 public:
  /// `drain`: takes the memory events up to now.
  Pager(States& states, tracking::AbsentPages& absent, std::function<void()> drain);
  ~Pager() { absent_.filled_by(nullptr); }
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

  /// Where the copies of a place are read; nullptr: it has none any more.
  void read_from(std::size_t place, PageSource* source);

  enum class Left : std::uint8_t {
    yes,
    no,      ///< nothing has changed
    partly,  ///< bring_home() the span
  };
  /// The place has computed these pages: the host's are given up. If they cannot be, all of the span is to be written
  /// by the caller. No scan of these pages may protect some meanwhile.
  Left leave(std::size_t place, Span span);
  /// The same where the place has computed only some of the bytes. `others` appends those bytes of a run of pages that
  /// it has not: what it lacks of them, it is given first. Never `partly`. Nothing else may be copied to or computed in
  /// these pages of the place meanwhile.
  using OtherBytes = std::function<void(Span pages, std::vector<Span>& bytes)>;
  Left leave(std::size_t place, Span span, const OtherBytes& others);

  /// Fills the host's pages of the spans that were given up. Nobody else fills any of them any more when it returns.
  void bring_home(std::span<const Span> spans);
  void bring_home(Span span) { bring_home({&span, 1}); }
  /// Pages of this result have been left: it is named if they are lost.
  void note(const LeftResult& result) { results_.note(result); }

  /// Whether all of what the place has computed anew is left already; then that is all.
  bool left_again(std::size_t place, Span span);

  /// Calls use(runs) with those runs of pages of the spans of which the place has the only copy. Work that it queues
  /// there precedes whoever reads them: nothing is filled or left meanwhile.
  template <class Use>
  void use_newest(std::size_t place, std::span<const Span> spans, Use&& use) {
    const std::lock_guard lock(changing_);
    std::vector<Span> runs;
    for (const Span span : spans) states_.newest_at(place, span, runs);
    use(runs);
  }

  /// Shows what becomes of the pages, from here on.
  void show_in(platform::ResultsGauge& gauge) { gauge_ = &gauge; }

  /// The process is about to fork: fills all pages. Nothing is left until it has.
  void before_fork();
  void after_fork_in_parent() { forking_ = false; }

  /// Fills all pages. Nothing is left from here on.
  void end();
  bool ended() const { return ended_; }

  /// Runs apply(), which takes the memory events and tells the states, while nothing is filled or left: what is filled
  /// is what the states have said since the latest events.
  template <class Apply>
  void apply_events(Apply&& apply) {
    const std::lock_guard lock(changing_);
    apply();
  }

  /// Fills pages for those who touch them, until stop(). Calls handled(touched) after each batch: the runs of pages
  /// that were brought because somebody touched one.
  void serve(const std::function<void(const std::vector<Span>& touched)>& handled);
  void stop() {
    absent_.stop_waiting();
    if (workers_) workers_->end();
  }

 private:
  /// A run of memory that somebody goes through.
  struct Stream {
    Span latest;
    std::uint64_t used = 0;
  };

  bool moved(Span from, std::uintptr_t to, const platform::IntervalSet& except) override;
  void surrendered(Span span) override { bring_home(span); }
  void leave_nothing_and_bring_all_home(std::atomic<bool>& from_here_on);
  tracking::AbsentPages::Filled try_to_bring_home(std::span<const Span> spans);
  tracking::AbsentPages::Filled fill_what_is_newest(std::span<const PagesOnDevice> pages);
  tracking::AbsentPages::Filled fill(std::span<const PagesOnDevice> runs, std::uintptr_t moved);
  PageSource* source_of(std::size_t place);
  [[noreturn]] void end_lost(const char* cause);
  void make_workers();
  bool complete(const tracking::AbsentPages::Taken& taken, const std::vector<PagesOnDevice>& copies,
                const platform::IntervalSet& lacking, const OtherBytes& others);
  void free_memory(const platform::OwnedMapping& memory);
  void fill_touched(std::uintptr_t address, std::vector<Span>& touched);
  Span window_at(Span page);
  Span next_window_at(std::uintptr_t page);

  States& states_;
  LeftResults results_;
  tracking::AbsentPages& absent_;
  platform::EventLock changing_;  ///< shared by those who fill pages, who do not drain events meanwhile
  std::atomic<bool> forking_ = false;
  std::atomic<bool> ended_ = false;
  const std::function<void()> drain_;
  std::once_flag workers_made_;
  std::unique_ptr<platform::WorkerPool> workers_;  ///< of memory that is brought in several pieces
  std::mutex sources_mutex_;
  std::vector<PageSource*> sources_;  ///< by place
  std::array<Stream, 16> streams_{};
  std::uint64_t touches_ = 0;
  platform::ResultsGauge own_gauge_{};
  std::atomic<platform::ResultsGauge*> gauge_ = &own_gauge_;
};

}  // namespace blastoff::ledger
