// The rules that keep mirrors and host memory equal: which call may use which page when, what must be uploaded first,
// and what is current afterwards. No data moves here.
//
// A matrix that the CPU rewrites before every use has no mirror, nor has a result that the device never reads: each
// call has device memory of its own for them. All other operands have a mirror. A call may compute with a page when its
// mirror is current, at least for the bytes in question, and no upload of it is under way. A page may be uploaded when
// no call in flight writes a part of it on the device, because the upload would undo what that call has computed and
// not yet returned. A call takes hold of all its pages at once, or waits while it holds nothing, so calls cannot wait
// for each other in a circle.
//
// One lock guards all this. It is given back while the driver page-locks, unlocks, maps or unmaps memory, while what
// stayed on the device comes home, and while pages are protected.
//
// An acquisition's way: estimate.cpp, write_scan.cpp and pinned_operands.cpp before it, coherence.cpp while it is
// taken, staying.cpp for what does not go home, commit.cpp at its end. vectors_there.cpp needs none. The ledger keeps
// which pages are current here, so that other devices find there what they can copy.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "device/direct_copies.h"
#include "ledger/ledger.h"
#include "operation/estimate.h"
#include "operation/operation.h"
#include "platform/interval_set.h"
#include "residency/mirror/mirror_memory.h"
#include "residency/mirror/mirror_source.h"
#include "residency/mirror/page_acquisition.h"
#include "residency/mirror/pins.h"
#include "residency/mirror/running_calls.h"
#include "residency/mirror/stay_heuristic.h"
#include "residency/mirror/tracking_heuristic.h"
#include "residency/mirror/use_there.h"
#include "residency/mirror/validity.h"
#include "residency/policy.h"
#include "residency/results.h"

namespace blastoff::residency::mirror {

/// Every acquisition ends by finish() or abandon(); the other functions only save time. Thread-safe.
class Coherence {
 public:
  /// `pins`, `direct_copies`: shared by the devices of the process; without the latter, they give each other nothing.
  /// `max_copied`: the largest matrix, in bytes, that is copied rather than mirrored because the CPU rewrites it,
  /// though it has a mirror.
  Coherence(device::Device& device, ledger::Ledger& ledger, std::shared_ptr<Pins> pins,
            std::shared_ptr<device::DirectCopies> direct_copies, std::size_t max_copied,
            TrackingHeuristic::Fingerprint fingerprint = residency::fingerprint, Results results = Results::home);
  ~Coherence();
  Coherence(const Coherence&) = delete;
  Coherence& operator=(const Coherence&) = delete;

  device::Device& device() { return device_; }

  /// Work of calls that have returned. To precede all that a call does on the device.
  RunningCalls& running() { return running_; }
  /// Whether a call that holds this acquisition may return once it has been queued, if it is alone(): all its results
  /// are on the device alone, and will be, or their pages can be given up before they are computed.
  bool may_run_on(const PageAcquisition& acquisition);
  /// Whether no other call is in flight: calls of several threads overlap anyway, and would be put in order. To be
  /// asked after running() has the call: others that begin by then follow it.
  bool alone() const { return in_flight_ == 1; }

  /// Waits for conflicting calls, protects the pages that are to be tracked, and takes hold. For a call that would
  /// copy nearly all that it reads, nothing is held (PageAcquisition::past_mirrors): copies go on while the device
  /// computes, where mirrors are brought before. Such a call ends by passed(). unsupported: memory that cannot be
  /// mirrored (the message says why). out_of_memory: the operands do not fit the budget.
  device::Result<PageAcquisition> acquire(const operation::Operation& call, Copied may_copy = Copied::any);

  /// What is known about the operands without asking the kernel. A result of an operation that only moves numbers
  /// counts as missing unless it will stay: bringing it home costs what the CPU would save. Only a sample of the pages
  /// of large operands is examined. Nothing if another thread holds the lock.
  std::optional<operation::Estimate> estimate(const operation::Operation& call);

  /// Checks for writers that bypass the page table. To be called between acquire() and finish(), best while the device
  /// is at work. If there is one, nothing is current from here on, and acquire() refuses until the writer has gone.
  void look_for_dma_writers() {
    if (place_.unasked()) dma_writer();
  }

  /// The uploads of the acquisition have arrived or, with `arrived` false, have failed.
  void loaded(PageAcquisition& acquisition, bool arrived);

  /// The uploads have arrived but for those that others bring. They are taken off the acquisition's list, since other
  /// calls may use them from here on. Those that matrices fill which the call only reads are *steady*.
  void share(PageAcquisition& acquisition, const platform::IntervalSet& others);

  /// What other devices have of these pages, fresh ones that the acquisition has to upload: all is current there that
  /// the call reads. Waits for no call. To be asked where can_borrow().
  ledger::Loan who_else_has(const PageAcquisition& acquisition, const std::vector<platform::Span>& pages, bool tracked);
  /// Waits until these pages have arrived at a place from which they can be borrowed, or until then.
  void await_arrival(const ledger::Place& there, platform::Span pages, std::chrono::steady_clock::time_point until);
  /// Whether there is another device that could.
  bool can_borrow() { return direct_copies_ && !direct_copies_->reached_by(device_).empty(); }
  ledger::Place& place() { return place_; }

  /// From here on all copies to and from the operands are staged. To be called before the first one.
  void stage_all(PageAcquisition& acquisition);

  /// Results are about to be returned: prepares the pages, so that the CPU does not take a fault for each page that it
  /// writes.
  void expect_staged_return(const PageAcquisition& acquisition);

  /// The device has computed a result that is to stay: gives up the host's pages on which it lies, and returns true.
  /// What not_to_stay() names is to be in host memory before. False: it cannot stay, and is to be returned through
  /// staging.
  bool leave(PageAcquisition& acquisition, std::size_t operand);
  /// The same for the first and the last page of a result, if the program has nothing else there, and if the result has
  /// stayed before or, with `runs_on`, is still being computed. False: what lies there is to go home.
  bool leave_edges(const PageAcquisition& acquisition, std::size_t operand, bool runs_on);
  /// The bytes of such a result on pages that cannot be given up.
  std::vector<platform::Span> not_to_stay(const operation::Operand& result) const;

  /// Does a part of the work of finish() while the device is still computing.
  void prepare_finish(PageAcquisition& acquisition);

  /// The call is over and every result is in host memory, as return_of() says. Other calls may go on.
  void finish(PageAcquisition& acquisition) { end(acquisition, true); }

  /// The call is over, but not every result returned: none of its results is taken as current.
  void abandon(PageAcquisition& acquisition) { end(acquisition, false); }

  /// Where the matrices of a call are now, as far as is known without a look at what the program has written.
  PageAcquisition::PerOperand<MatrixPlace> places(const operation::Operation& call);
  /// For a call that is over. `before`: what places() said.
  std::vector<MatrixPlaces> places(const PageAcquisition& acquisition,
                                   const PageAcquisition::PerOperand<MatrixPlace>& before);

  /// A call that was made past the mirrors is over.
  void passed(const operation::Operation& call);

  /// So many bytes were brought through host memory in so many seconds.
  void learn_bringing(std::size_t bytes, double seconds);

  /// Page-locks operands of a call that goes past the mirrors, as far as that may be and pays. The acquisition has
  /// pins, and nothing else; it ends by unlock_operands(). From then on results are as if the CPU had written them.
  PageAcquisition lock_operands(const operation::Operation& call);
  void unlock_operands(PageAcquisition& acquisition);

  /// Ends the page-locking of the program's memory; pins of calls in flight end with these calls. Called from within
  /// dlopen(), so it waits only briefly for the lock. What it cannot end, the next call ends. True: none is left.
  bool release_pins();

  /// Gives back all device memory behind mirrors, and the pins, except those of calls in flight.
  void release_mirrors();

  /// What TrackingHeuristic tells later runs of the program, and is told by an earlier one. Nothing if another thread
  /// holds the lock.
  std::optional<std::vector<std::uint64_t>> used_once();
  void expect_used_once(std::span<const std::uint64_t> kinds);

  /// The CPU is about to make this call. Brings home what stayed on the device. Gives up the mirrors of the results, so
  /// that the CPU takes no page fault for each page that it writes. Nothing if another thread holds the lock.
  void leave_to_cpu(const operation::Operation& call);

  /// See Policy::make_there().
  device::Status make_there(const VectorsThere& vectors, device::CallQueues& queues, std::vector<PartThere>& made);

  /// Blocks until there are events of watched memory (true) or stop_waiting() was called (false).
  bool wait_for_events() { return place_.wait_for_events(); }
  void stop_waiting() { place_.stop_waiting(); }

  /// Applies the events of watched memory up to now, for a program that frees matrices and does not call BLAS again.
  /// Gives back device memory that has been dead for so many seconds, one piece at a time, so that calls get the lock
  /// in between. True: some is left that has not been dead for so long.
  bool tidy(double seconds);

 private:
  /// What an examination of the pages of a call finds.
  struct Survey {
    bool conflict = false;
    bool needs_memory = false;
    std::vector<Backing*> backings;
  };

  double current_share(const operation::Operand& operand) const;
  bool expects_to_stay(const operation::Operation& call, std::size_t index) const;
  bool mostly_left(const operation::Operand& operand) const;
  bool nearly_all_left(const operation::Operand& operand) const;
  std::optional<std::string> dma_writer();
  void apply_events();
  void give_back_ended(std::unique_lock<std::mutex>& lock);
  device::Status hold_pages(PageAcquisition& acquisition, std::unique_lock<std::mutex>& lock);
  bool registered_by_program(platform::Span span) { return pins_->registered_by_program(device_, span); }
  void find_registered(PageAcquisition& acquisition);
  bool any_registered(const std::vector<platform::Span>& written);
  void take_pins(PageAcquisition& acquisition, std::unique_lock<std::mutex>& lock);
  bool is_what_is_watched(const operation::Operand& operand);
  void drop_pins_not_to_be_used(PageAcquisition& acquisition, std::unique_lock<std::mutex>& lock);
  void release_pin(PageAcquisition& acquisition, std::size_t operand);
  void release_pins_of(PageAcquisition& acquisition);
  tl::expected<void, std::string> watch(const operation::Operand& operand);
  device::Status check_memory(PageAcquisition& acquisition);
  void copy_unwatched(PageAcquisition& acquisition, std::size_t index);
  /// What the kernel and the driver say of an operand.
  struct Findings {
    std::vector<platform::Span> runs;     // that were protected
    std::vector<platform::Span> faulted;  // of these: pages for which the CPU has taken page faults
    std::size_t bytes = 0;                // protected in so many seconds
    double seconds = 0;
    bool large = false;
    bool intact = true;       // else the memory is not the one that is watched
    bool registered = false;  // some of what was written the program itself shares with the device
  };
  Findings look_at(const operation::Operand& operand, bool unseen);
  Findings look_at_copied(const operation::Operand& operand);
  bool is_given_up_unseen(const PageAcquisition& acquisition, std::size_t index) const;
  void lose(const operation::Operand& operand);
  device::Result<bool> protect(PageAcquisition& acquisition, std::unique_lock<std::mutex>& lock);
  void stop_tracking(const operation::Operand& operand);
  void stop_tracking(const PageAcquisition& acquisition, std::size_t index);
  using Looks = PageAcquisition::PerOperand<Look>;
  void count_written(const PageAcquisition& acquisition, const std::vector<platform::Span>& faulted, Looks& looks);
  void count_own_writes(const PageAcquisition& acquisition);
  void judge(PageAcquisition& acquisition, Looks& looks);
  void count_kept(const operation::Operand& operand, Look& look) const;
  void choose_staying(PageAcquisition& acquisition);
  void note_touched();
  Stay wanted_stay(const operation::Operation& call, std::size_t index);
  bool may_stay(const operation::Operation& call, std::size_t index);
  bool will_stay(const operation::Operation& call, std::size_t index);
  static bool has_its_own_pages(const operation::Operand& result);
  bool has_a_region(const operation::Operation& call, const operation::Operand& result) const;
  bool bring_home(const operation::Operand& operand);
  bool leave(std::span<const platform::Span> runs, bool unseen);
  bool leave_region(const PageAcquisition& acquisition, const operation::Operand& result, platform::Span region);
  std::uintptr_t find_end_of_block(platform::Span result);
  bool all_left_here(const operation::Operand& result) const;
  bool can_be_given_up_early(const operation::Operation& call, const operation::Operand& result);
  bool fills_its_block(const operation::Operand& result);
  void leave_probes(PageAcquisition& acquisition);
  bool has_memory(const operation::Operand& operand) const;
  bool may_copy(const PageAcquisition& acquisition, const operation::Operand& operand) const;
  void choose_copied(PageAcquisition& acquisition) const;
  void go_past_mirrors(PageAcquisition& acquisition);
  bool goes_past_mirrors(const PageAcquisition& acquisition) const;
  void judge_uses(const operation::Operation& call, const PageAcquisition::PerOperand<std::size_t>& left);
  Survey survey(const PageAcquisition& acquisition);
  void survey_run(Survey& survey, platform::Span run, bool read, bool scribbled, Validity& validity);
  device::Status back(PageAcquisition& acquisition);
  void claim_uploads(PageAcquisition& acquisition);
  std::uint64_t claim_part(PageAcquisition& acquisition, std::size_t first_own, Chunk& chunk, platform::Span pages,
                           Validity& validity);
  void let_go(PageAcquisition& acquisition);
  template <class Visit>
  static void each_untracked(const PageAcquisition& acquisition, Visit&& visit);
  void forget_uses(const PageAcquisition& acquisition, bool home);
  void count_writer(const PageAcquisition& acquisition, int change);
  void find_result_pages(PageAcquisition& acquisition);
  bool keeps(const PageAcquisition& acquisition, std::size_t operand) const;
  void protect_staged(const PageAcquisition& acquisition, PageAcquisition::PerOperand<bool>& intact);
  bool settle_staged(const operation::Operand& result, bool intact);
  void settle_region(const operation::Operand& result, bool intact);
  void settle_direct(const PageAcquisition& acquisition, std::size_t operand);
  void tell_other_devices(const PageAcquisition& acquisition);
  void settle(const PageAcquisition& acquisition, bool home, const PageAcquisition::PerOperand<bool>& intact);
  device::Status make_part(const VectorsThere& vectors, PartThere& part, device::Queue& queue);
  void end(PageAcquisition& acquisition, bool home);

  device::Device& device_;
  const std::size_t max_copied_;
  std::mutex mutex_;
  std::condition_variable changed_;  // an acquisition ended or an upload arrived
  const Results results_;
  ledger::Place place_;
  RunningCalls running_;
  std::atomic<int> in_flight_ = 0;        // acquisitions
  std::unique_ptr<MirrorSource> source_;  // nullptr: results go home
  MirrorMemory mirrors_;
  const std::shared_ptr<Pins> pins_;
  const std::shared_ptr<device::DirectCopies> direct_copies_;
  TrackingHeuristic heuristic_;
  StayHeuristic stays_;
  std::unordered_map<operation::RoutineId, UseThere> uses_there_;
  std::vector<platform::Span> untracked_;  // pages that calls in flight read, which are not current
  // Scratch, under the lock. Not thread-local: calls may come from exit handlers, after a thread's own data are gone.
  std::vector<platform::Span> written_;
  std::vector<platform::Span> touched_;
  std::vector<tracking::MemoryEvent> events_;
  Examined examined_;
};

}  // namespace blastoff::residency::mirror
