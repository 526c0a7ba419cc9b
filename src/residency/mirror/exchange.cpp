#include "residency/mirror/exchange.h"

#include <algorithm>

#include "platform/interval_set.h"
#include "residency/mirror/coherence.h"

namespace blastoff::residency::mirror {

using platform::Span;

Loan::~Loan() {
  if (lender_ != nullptr) lender_->take_back(*this);
}

void Exchange::join(Coherence& mirrors, device::Device& device) {
  const std::lock_guard lock(mutex_);
  members_.emplace_back(&mirrors, &device);
}

void Exchange::leave(Coherence& mirrors, device::Device& device) {
  const std::lock_guard lock(mutex_);
  std::erase_if(members_, [&](const auto& member) { return member.first == &mirrors; });
  direct_copies_.forget(device);
}

std::vector<Exchange::Member> Exchange::members() {
  const std::lock_guard lock(mutex_);
  return members_;
}

bool Exchange::reaches(device::Device& borrower) {
  return std::ranges::any_of(members(), [&](const Member& member) {
    return member.second != &borrower && direct_copies_.possible(borrower, *member.second);
  });
}

std::vector<Loan> Exchange::borrow(const Coherence& borrower, device::Device& to, const operation::Operation& call,
                                   std::vector<Span> wanted) {
  std::vector<Loan> loans;
  for (const auto& [lender, from] : members()) {
    if (wanted.empty()) break;
    if (lender == &borrower || !direct_copies_.possible(to, *from)) continue;
    Loan loan(*lender);
    lender->lend(call, wanted, loan);
    if (loan.runs.empty()) continue;
    platform::IntervalSet lent;
    for (const PagesOnDevice& run : loan.runs) lent.add(run.host);
    std::vector<Span> rest;
    for (const Span span : wanted) lent.each_gap(span, [&](Span gap) { rest.push_back(gap); });
    wanted = std::move(rest);
    loans.push_back(std::move(loan));
  }
  return loans;
}

}  // namespace blastoff::residency::mirror
