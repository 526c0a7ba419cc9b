#include "trace/writes.h"

#include "platform/process.h"
#include "residency/fingerprint.h"
#include "residency/footprint.h"

namespace blastoff::trace {
namespace {

using operation::Operand;
using operation::Operation;
using platform::Span;

/// The share of the run that this work and its cost to the program may take. Up to the second share, only elements are
/// compared, which costs least. In addition, this many seconds may be spent at any time.
constexpr double affordable_share = 0.012;
constexpr double max_affordable_share = 0.015;
constexpr double affordable_at_once = 0.02;

/// The program's time for writing a protected page.
constexpr double fault_seconds = 1.3e-6;

/// The program's time after many pages were protected again: the processor forgets the addresses of all memory (TLB),
/// and has to find them again in the call. Measured with products of order 280 to 560 on a virtual machine: 13 to 47
/// us.
constexpr double flush_seconds = 2e-5;

/// Rewriting or protecting fewer pages than this costs too little to matter.
constexpr std::size_t few_pages = 16;

/// Tracking a matrix is worth its faults if it is used this many times before it is rewritten.
constexpr int uses_that_pay = 8;

/// A matrix that was rewritten this many times in a row, each time after few uses, is no longer tracked.
constexpr int max_rewritten = 2;

bool is_much(std::size_t bytes) {
  return bytes > few_pages * platform::page_size();
}

/// Whether the call writes memory that begins at the same address as this operand.
bool is_result(const Operation& call, const Operand& operand) {
  bool result = false;
  call.each_result([&](std::size_t, const Operand& each) { result = result || each.address == operand.address; });
  return result;
}

}  // namespace

Writes::Writes(std::unique_ptr<tracking::PageTracker> tracker) : tracker_(std::move(tracker)) {
  if (tracker_) watched_ = std::make_unique<tracking::WatchedMemory>(*tracker_);
}

bool Writes::costs_too_much(double share) const {
  return spent_ > affordable_at_once + share * run_.seconds();
}

Writes::MatrixWrites& Writes::matrix_of(const Operand& operand) {
  return matrices_.use(residency::bounds(operand).begin);
}

void Writes::forget(Span span) {
  seen_.remove(span);
  results_.remove(span);
  matrices_.erase_within(span.begin, span.end);
}

void Writes::drain(std::vector<Span>& gone) {
  if (!watched_) return;
  std::vector<tracking::MemoryEvent> events;
  if (!watched_->drain(events)) {
    constexpr Span everything = {0, ~std::uintptr_t{0xfff}};
    forget(everything);
    gone.push_back(everything);
    return;
  }
  for (const tracking::MemoryEvent& event : events) {
    forget(event.span);
    gone.push_back(event.span);
  }
}

/// Starts to track the operand's memory. Returns whether that was possible.
bool Writes::watch(const Operand& operand, Found& found) {
  bool watched = watched_ != nullptr;
  residency::each_region(operand, [&](Span region) {
    if (!watched) return;
    if (const auto tracked = watched_->watch(region); !tracked) {
      found.untracked.emplace_back(region, tracked.error());
      watched = false;
    }
  });
  return watched;
}

/// Returns false if the memory has been replaced by other memory.
bool Writes::scan(const Operand& operand, bool protect, std::vector<Span>& written) {
  bool intact = true;
  residency::each_region(operand, [&](Span region) {
    if (tracker_->scan(region, protect, written) == tracking::PageTracker::Scan::ok) return;
    watched_->forget(region);
    forget(region);
    intact = false;
  });
  return intact;
}

void Writes::stop_tracking(const Operand& operand) {
  residency::each_region(operand, [&](Span region) {
    tracker_->unprotect(region);
    seen_.remove(region);
  });
}

void Writes::look(const Operand& operand, MatrixWrites& matrix, Found& found) {
  scratch_.clear();
  if (!scan(operand, true, scratch_)) {
    residency::each_region(operand, [&](Span region) { found.gone.push_back(region); });
    return;
  }
  std::size_t written = 0;
  for (const Span run : scratch_) {
    if (!seen_.overlaps(run) || results_.contains(run)) continue;
    found.written.push_back(run);
    written += run.bytes();
  }
  residency::each_region(operand, [&](Span region) {
    seen_.add(region);
    results_.remove(region);
  });
  spent_ += fault_seconds * static_cast<double>(written) / static_cast<double>(platform::page_size());
  if (is_much(written)) spent_ += flush_seconds;
  judge(operand, matrix, written);
}

/// Judges whether tracking the matrix has paid. If not, compares its elements from now on.
void Writes::judge(const Operand& operand, MatrixWrites& matrix, std::size_t written_bytes) {
  const bool much = is_much(written_bytes) && 2 * written_bytes > residency::region_bytes(operand);
  if (!much) {
    if (++matrix.uses >= uses_that_pay) matrix.rewritten = 0;
    return;
  }
  const bool soon = std::exchange(matrix.uses, 0) < uses_that_pay;
  matrix.rewritten = soon ? matrix.rewritten + 1 : 0;
  if (matrix.rewritten < max_rewritten) return;
  matrix.sampled = true;
  matrix.backoff.failed();
  matrix.rewritten = 0;
  matrix.known = false;
  stop_tracking(operand);
}

void Writes::compare(const Operand& operand, MatrixWrites& matrix, Found& found) {
  if (!matrix.known || matrix.rows != operand.rows || matrix.columns != operand.columns) return;
  if (residency::fingerprint(operand) != matrix.fingerprint) {
    matrix.backoff.restart();
    residency::each_region(operand, [&](Span region) { found.written.push_back(region); });
    return;
  }
  matrix.backoff.count();
  if (matrix.backoff.is_over()) matrix.sampled = false;
}

// The pages that earlier calls have left protected are unprotected, so that the call itself takes no faults.
void Writes::pass_over(const Operation& call) {
  call.each_result([&](std::size_t, const Operand& result) {
    if (!residency::holds_data(result)) return;
    residency::each_region(result, [&](Span region) {
      if (!watched_ || !seen_.overlaps(region)) return;  // its writes are not looked for
      if (!results_.contains(region)) tracker_->unprotect(region);
      results_.add(region);
    });
  });
}

bool Writes::any_sampled(const Operation& call) {
  bool any = false;
  residency::each_distinct_matrix(
      call, [&](std::size_t, const Operand& operand) { any = any || matrix_of(operand).sampled; });
  return any;
}

template <class Look>
void Writes::spend(const Look& look) {
  const double begun = platform::own_cpu_seconds();
  look();
  spent_ += platform::own_cpu_seconds() - begun;
}

Found Writes::before(const Operation& call) {
  Found found;
  drain(found.gone);
  found.asked = !costs_too_much(affordable_share);
  if (found.asked) {
    spend([&] {
      residency::each_distinct_matrix(call, [&](std::size_t, const Operand& operand) {
        MatrixWrites& matrix = matrix_of(operand);
        const bool tracked = !matrix.sampled && watch(operand, found);
        if (!tracked) return compare(operand, matrix, found);
        look(operand, matrix, found);
        // Unprotects the results, so that the call itself takes no faults, and calls inside it do not count its writes.
        // look() has forgotten all memory that was replaced.
        if (!matrix_of(operand).sampled && is_result(call, operand)) {
          residency::each_region(operand, [&](Span region) {
            tracker_->unprotect(region);
            results_.add(region);
          });
        }
      });
    });
    return found;
  }
  pass_over(call);
  if (!any_sampled(call) || costs_too_much(max_affordable_share)) return found;
  spend([&] {
    residency::each_distinct_matrix(call, [&](std::size_t, const Operand& operand) {
      if (MatrixWrites& matrix = matrix_of(operand); matrix.sampled) compare(operand, matrix, found);
    });
  });
  return found;
}

void Writes::after(const Operation& call, bool asked) {
  const bool looks = asked || watched_ == nullptr || any_sampled(call);
  if (!looks || costs_too_much(max_affordable_share)) return;
  spend([&] {
    residency::each_distinct_matrix(call, [&](std::size_t, const Operand& operand) {
      MatrixWrites& matrix = matrix_of(operand);
      bool tracked = watched_ != nullptr && !matrix.sampled;
      residency::each_region(operand, [&](Span region) { tracked = tracked && (!asked || seen_.contains(region)); });
      if (!tracked) {
        matrix.rows = operand.rows;
        matrix.columns = operand.columns;
        matrix.fingerprint = residency::fingerprint(operand);
        matrix.known = true;
      } else if (asked && is_result(call, operand)) {
        scratch_.clear();
        scan(operand, true, scratch_);
        residency::each_region(operand, [&](Span region) { results_.remove(region); });
        if (is_much(residency::region_bytes(operand))) spent_ += flush_seconds;
      }
    });
  });
}

}  // namespace blastoff::trace
