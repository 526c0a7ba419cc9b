// Pages of this device's mirrors that another device copies. The argument that what the call reads of them is current
// (what else lies there need not be, so the borrower holds nothing current of such a page before):
//
// The borrower has protected the pages. A write since then it finds at its next scan, as with any upload. A write
// before that, but after this device last protected the page, was found by the borrower's scan or an earlier one, and
// has made the page invalid here (ledger::Place). So the page is not lent.
#include <algorithm>
#include <utility>

#include "platform/interval_set.h"
#include "residency/mirror/coherence.h"
#include "residency/mirror/exchange.h"

namespace blastoff::residency::mirror {

using platform::Span;

namespace {

/// Whether a call that reads the same could compute with the page here.
bool can_be_lent(const Chunk& chunk, Span page, const operation::Operation& call) {
  const std::size_t number = page_numbers(page).first;
  if (!chunk.current.test(number) || chunk.loading.test(number)) return false;
  return !chunk.partial.test(number) || std::ranges::all_of(call.operands(), [&](const operation::Operand& operand) {
    return operand.empty() || !operation::reads(operand.intent) || Currency(operand, true).on_page(chunk, page);
  });
}

}  // namespace

void Coherence::lend(const operation::Operation& call, const std::vector<Span>& wanted, Loan& loan) {
  if (std::ranges::none_of(wanted, [&](Span span) { return place_.has_looked_at(span); })) return;
  const std::lock_guard lock(mutex_);
  apply_events();
  if ((foreign_ || unasked_) && foreign_writer()) return;
  std::vector<Span> runs;
  for (const Span span : wanted) place_.found_written(span, runs);
  platform::IntervalSet written;
  for (const Span run : runs) written.add(run);
  for (const Span span : wanted) written.each_gap(span, [&](Span unwritten) { lend_run(call, unwritten, loan); });
}

void Coherence::lend_run(const operation::Operation& call, Span run, Loan& loan) {
  const std::size_t page = platform::page_size();
  const std::size_t before = loan.runs.size();
  mirrors_.each_part(run, [&](const Chunk& chunk, Span pages) {
    for (std::uintptr_t at = pages.begin; at < pages.end; at += page) {
      if (!can_be_lent(chunk, {at, at + page}, call)) continue;
      const device::Address address = mirrors_.device_address(at);
      PagesOnDevice* const last = loan.runs.size() > before ? &loan.runs.back() : nullptr;
      if (last && last->host.end == at && last->device + last->host.bytes() == address)
        last->host.end += page;
      else
        loan.runs.push_back({{at, at + page}, address});
    }
  });
  for (std::size_t i = before; i < loan.runs.size(); ++i) {
    mirrors_.each_backing(loan.runs[i].host, [&](Backing& backing) {
      if (std::ranges::find(loan.backings, &backing) != loan.backings.end()) return;
      loan.backings.push_back(&backing);
      mirrors_.hold(backing);
    });
  }
}

void Coherence::take_back(Loan& loan) {
  const std::lock_guard lock(mutex_);
  mirrors_.unhold(std::exchange(loan.backings, {}));
}

}  // namespace blastoff::residency::mirror
