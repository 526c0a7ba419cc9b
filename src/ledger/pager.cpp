#include "ledger/pager.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>

#include "platform/contained.h"
#include "platform/exit_status.h"
#include "platform/log.h"
#include "platform/stopwatch.h"
#include "platform/threads.h"

namespace blastoff::ledger {

namespace {

using Filled = tracking::AbsentPages::Filled;

// So many threads read and fill as fast as the kernel makes pages.
constexpr int max_workers = 7;

// What is brought for one touch: little at first, since a program may look at one element only; more for a program
// that goes on.
constexpr std::size_t first_window = std::size_t{256} << 10;
constexpr std::size_t last_window = std::size_t{8} << 20;

using Batch = std::vector<PagesOnDevice>;

/// Pages of one place each, that take one buffer.
std::vector<Batch> batches_of(std::span<const PagesOnDevice> runs) {
  std::vector<Batch> batches;
  std::size_t room = 0;
  for (const PagesOnDevice& run : runs)
    for (std::size_t done = 0; done < run.host.bytes();) {
      if (room == 0 || batches.back().back().place != run.place) {
        batches.emplace_back();
        room = PageSource::max_bytes;
      }
      const std::size_t bytes = std::min(room, run.host.bytes() - done);
      const std::uintptr_t begin = run.host.begin + done;
      batches.back().push_back({{begin, begin + bytes}, run.device + done, run.place});
      room -= bytes;
      done += bytes;
    }
  return batches;
}

}  // namespace

Pager::Pager(States& states, tracking::AbsentPages& absent, std::function<void()> drain)
    : states_(states), absent_(absent), drain_(std::move(drain)) {
  absent_.filled_by(this);
}

void Pager::read_from(std::size_t place, PageSource* source) {
  const std::lock_guard lock(sources_mutex_);
  if (sources_.size() <= place) sources_.resize(place + 1);
  sources_[place] = source;
}

PageSource* Pager::source_of(std::size_t place) {
  const std::lock_guard lock(sources_mutex_);
  return sources_[place];
}

// Several threads may find out at once: one tells.
void Pager::end_lost(const char* cause) {
  static std::mutex& first = *new std::mutex;
  first.lock();
  std::string names = "results";
  platform::contained([&] {
    Loan loan;
    states_.newest(everything, loan);
    std::vector<Span> runs;
    for (const PagesOnDevice& run : loan.runs()) runs.push_back(run.host);
    names = results_.names(runs);
  });
  platform::log_line(
      "%s, and with it the only copy of what had stayed on the device: %s; the process ends (--results home brings "
      "every result to host memory)",
      cause, names.c_str());
  _exit(platform::software_error);
}

void Pager::make_workers() {
  std::call_once(workers_made_, [this] {
    workers_ = platform::create_worker_pool(std::clamp(platform::cpu_share() - 1, 0, max_workers), "blastoff-pager");
  });
}

bool Pager::left_again(std::size_t place, Span span) {
  if (!states_.all_newest(place, span)) return false;
  gauge_.load()->overwritten += span.bytes();
  return true;
}

Pager::Left Pager::leave(std::size_t place, Span span) {
  if (left_again(place, span)) return Left::yes;
  make_workers();
  const std::lock_guard lock(changing_);
  const std::size_t overwritten = states_.newest_bytes(span);
  if (forking_ || ended_ || !states_.leave(place, span)) return Left::no;
  bool partly = false;
  if (absent_.give_up(span, partly)) {
    gauge_.load()->overwritten += overwritten;
    return Left::yes;
  }
  if (partly) return Left::partly;
  states_.home(span);
  return Left::no;
}

// What other threads write to the pages meanwhile, they write before the pages are taken or after they have been
// filled.
Pager::Left Pager::leave(std::size_t place, Span span, const OtherBytes& others) {
  if (left_again(place, span)) return Left::yes;
  make_workers();
  std::vector<PagesOnDevice> copies;
  std::vector<Span> home;
  std::vector<Span> lacking;
  const std::lock_guard lock(changing_);
  if (forking_ || ended_ || states_.any_lent(span) || !states_.where(place, span, copies)) return Left::no;
  states_.at_home(place, span, home, lacking);
  const auto taken = absent_.take(span, home);
  if (!taken) return Left::no;
  bool completed = false;
  platform::contained([&] {
    platform::IntervalSet at_home;
    for (const Span run : home) at_home.add(run);
    platform::IntervalSet sent;
    for (const Span run : lacking) sent.add(run);
    for (const Span run : taken->written) at_home.each_common(run, [&](Span common) { sent.add(common); });
    completed = complete(*taken, copies, sent, others);
  });
  const std::size_t overwritten = states_.newest_bytes(span);
  if (completed && states_.leave(place, span)) {
    gauge_.load()->overwritten += overwritten;
    free_memory(taken->pages);
    return Left::yes;
  }
  absent_.put_back(*taken, home);
  return Left::no;
}

/// The kernel frees memory much faster for several threads than when one unmaps it.
void Pager::free_memory(const platform::OwnedMapping& memory) {
  constexpr std::size_t piece = std::size_t{16} << 20;
  const Span whole = memory.span();
  workers_->run((whole.bytes() + piece - 1) / piece, [&](std::size_t index) {
    const std::uintptr_t begin = whole.begin + index * piece;
    memory.free({begin, std::min<std::uintptr_t>(begin + piece, whole.end)});
  });
}

/// Gives copies of one place what they lack of these runs of pages.
bool Pager::complete(const tracking::AbsentPages::Taken& taken, const std::vector<PagesOnDevice>& copies,
                     const platform::IntervalSet& lacking, const OtherBytes& others) {
  std::vector<std::vector<device::Run>> loads;
  std::size_t load = PageSource::max_bytes;
  std::vector<Span> bytes;
  const auto send = [&](Span piece, device::Address to) {
    for (std::size_t done = 0; done < piece.bytes();) {
      if (load == PageSource::max_bytes) {
        loads.emplace_back();
        load = 0;
      }
      const std::size_t part = std::min(PageSource::max_bytes - load, piece.bytes() - done);
      loads.back().push_back({to + done, taken.at(piece.begin + done), part});
      load += part;
      done += part;
    }
  };
  for (const PagesOnDevice& copy : copies)
    lacking.each_common(copy.host, [&](Span pages) {
      bytes.clear();
      others(pages, bytes);
      for (const Span piece : bytes) send(piece, copy.device + (piece.begin - copy.host.begin));
    });
  PageSource* const source = source_of(copies.front().place);
  std::atomic<bool> written = source != nullptr;
  workers_->run(loads.size(), [&](std::size_t index) {
    if (written && !source->write(loads[index])) written = false;
  });
  return written;
}

/// Fills pages from where they are newest. Their addresses may be others by now: `moved` bytes away.
Filled Pager::fill(std::span<const PagesOnDevice> runs, std::uintptr_t moved) {
  for (const Batch& batch : batches_of(runs)) {
    PageSource* const source = source_of(batch.front().place);
    const auto* const contents = source == nullptr ? nullptr : static_cast<const std::byte*>(source->read(batch));
    if (contents == nullptr) end_lost("the device has been lost");
    Filled filled = Filled::yes;
    const std::byte* at = contents;
    for (const PagesOnDevice& run : batch) {
      if (filled == Filled::yes) filled = absent_.fill({run.host.begin + moved, run.host.end + moved}, at);
      if (filled == Filled::yes) {
        states_.home(run.host);
        gauge_.load()->brought_home += run.host.bytes();
      }
      at += run.host.bytes();
    }
    source->release(contents);
    if (filled != Filled::yes) return filled;
  }
  return Filled::yes;
}

// Memory may have gone some time before its event says so. Where there is no memory for our own lists, there may be
// some a little later.
void Pager::bring_home(std::span<const Span> spans) {
  constexpr double longest_without_an_event = 5;
  std::optional<platform::Stopwatch> gone;
  for (Filled filled = Filled::not_now; filled != Filled::yes;) {
    if (!platform::contained([&] {
          filled = try_to_bring_home(spans);
          if (filled != Filled::yes) drain_();
        }))
      filled = Filled::not_now;
    if (filled != Filled::gone)
      gone.reset();
    else if (!gone)
      gone.emplace();
    else if (gone->seconds() > longest_without_an_event)
      end_lost("the userfaultfd of the program's memory has been closed");
    if (filled != Filled::yes) usleep(50);
  }
  if (std::ranges::any_of(spans, [&](Span span) { return states_.any_lent(span); }))
    const std::lock_guard others_have_filled(changing_);
}

Filled Pager::try_to_bring_home(std::span<const Span> spans) {
  std::vector<Batch> batches;
  {
    const std::shared_lock lock(changing_);
    Loan loan;
    for (const Span span : spans) states_.newest(span, loan);
    batches = batches_of(loan.runs());
  }
  std::atomic<Filled> worst = Filled::yes;
  const auto fill_batch = [&](std::size_t index) {
    const Filled filled = worst == Filled::yes ? fill_what_is_newest(batches[index]) : Filled::yes;
    if (filled != Filled::yes) worst = filled;
  };
  if (workers_ && batches.size() > 1)
    workers_->run(batches.size(), fill_batch);
  else
    for (std::size_t index = 0; index < batches.size(); ++index) fill_batch(index);
  return worst;
}

Filled Pager::fill_what_is_newest(std::span<const PagesOnDevice> pages) {
  const std::shared_lock lock(changing_);
  Loan loan;
  for (const PagesOnDevice& run : pages) states_.newest(run.host, loan);
  return fill(loan.runs(), 0);
}

// Called in apply_events(), so that nothing else is filled or left.
bool Pager::moved(Span from, std::uintptr_t to, const platform::IntervalSet& except) {
  Loan loan;
  states_.newest(from, loan);
  bool complete = true;
  for (const PagesOnDevice& run : loan.runs()) {
    const auto now = [&](std::uintptr_t address) { return address - from.begin + to; };
    except.each_gap({now(run.host.begin), now(run.host.end)}, [&](Span left) {
      const std::uintptr_t begin = left.begin - to + from.begin;
      const PagesOnDevice part{{begin, begin + left.bytes()}, run.device + (begin - run.host.begin), run.place};
      if (complete) complete = fill({&part, 1}, to - from.begin) != Filled::not_now;
    });
  }
  return complete;
}

void Pager::leave_nothing_and_bring_all_home(std::atomic<bool>& from_here_on) {
  {
    const std::lock_guard lock(changing_);
    from_here_on = true;
  }
  bring_home(everything);
}

void Pager::before_fork() {
  leave_nothing_and_bring_all_home(forking_);
  platform::contained(drain_);  // what has been moved is for children, too
  absent_.before_fork();
}

void Pager::end() {
  leave_nothing_and_bring_all_home(ended_);
}

void Pager::serve(const std::function<void(const std::vector<Span>& touched)>& handled) {
  std::vector<std::uintptr_t> addresses;
  std::vector<Span> touched;
  addresses.reserve(4096);
  for (; absent_.wait(addresses); addresses.clear()) {
    platform::contained(drain_);
    for (const std::uintptr_t address : addresses) fill_touched(address, touched);
    handled(touched);
    touched.clear();
  }
}

// What is not newest anywhere holds zeros: the program has dropped it.
void Pager::fill_touched(std::uintptr_t address, std::vector<Span>& touched) {
  const std::size_t size = platform::page_size();
  const Span page{address & ~(size - 1), (address & ~(size - 1)) + size};
  for (;;) {
    if (states_.any_newest(page)) {
      const Span window = window_at(page);
      gauge_.load()->touched += states_.newest_bytes(window);
      bring_home(window);
      platform::contained([&] { touched.push_back(window); });
      return;
    }
    {
      const std::shared_lock lock(changing_);
      if (!states_.any_newest(page) && absent_.fill(page, nullptr) != Filled::not_now) return;
    }
    platform::contained(drain_);
  }
}

Span Pager::window_at(Span page) {
  return results_.part_for(page, next_window_at(page.begin));
}

Span Pager::next_window_at(std::uintptr_t page) {
  ++touches_;
  const auto block = [&](std::size_t bytes) {
    const std::uintptr_t begin = page / bytes * bytes;
    return Span{begin, begin + bytes};
  };
  for (Stream& stream : streams_) {
    const std::size_t reach = stream.latest.bytes();
    if (reach == 0 || page + reach < stream.latest.begin || page > stream.latest.end + reach) continue;
    stream = {block(std::min(2 * reach, last_window)), touches_};
    return stream.latest;
  }
  Stream& oldest = *std::ranges::min_element(streams_, {}, &Stream::used);
  oldest = {block(first_window), touches_};
  return oldest.latest;
}

}  // namespace blastoff::ledger
