#include "residency/mirror/operand_upload.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "platform/stopwatch.h"
#include "residency/transfers.h"

namespace blastoff::residency::mirror {

using device::Status;
using platform::Span;

namespace {

/// Bytes per second: no longer is waited for what other parts of a call bring than bringing it here would take.
constexpr double slow_link = 10e9;

/// What cannot be copied from another device comes from the host.
Status or_from_host(Status copied) {
  return copied || copied.error().kind == device::ErrorKind::unsupported ? Status{} : std::move(copied);
}

}  // namespace

Status OperandUpload::bring(std::vector<Transfer> others) {
  if (acquisition_.uploads.empty() && others.empty()) return {};
  const platform::Stopwatch stopwatch;
  Status brought;
  if (worth_borrowing() && coherence_.can_borrow()) {
    brought = borrow();
    if (brought && shared_.sharing) brought = bring_slices();
  }
  if (brought) {
    std::ranges::move(to_bring({}), std::back_inserter(others));
    brought = send(std::move(others));
  }
  const double seconds = stopwatch.seconds();
  traffic_.transfer_seconds += seconds;
  // What is page-locked may still be under way, and what other devices give comes another way.
  if (brought && !pinned_ && traffic_.bytes_between_devices == 0)
    coherence_.learn_bringing(traffic_.bytes_to_device, seconds);
  return brought;
}

bool OperandUpload::worth_borrowing() const {
  constexpr std::size_t min_run = std::size_t{64} << 10;  // on average; each costs some system calls
  std::size_t bytes = 0;
  std::size_t runs = 0;
  for (const PageAcquisition::Upload& upload : acquisition_.uploads) {
    if (!upload.fresh) continue;
    bytes += upload.run.bytes();
    ++runs;
  }
  const std::size_t least = borrowing_.min_bytes;
  return bytes >= std::max(least, runs * std::min(least, min_run));
}

/// Pages that the acquisition has to upload, but those that come from other devices and these.
std::vector<Transfer> OperandUpload::to_bring(const platform::IntervalSet& except) const {
  std::vector<Transfer> transfers;
  for (const PageAcquisition::Upload& upload : acquisition_.uploads) {
    borrowed_.each_gap(upload.run, [&](Span lacking) {
      except.each_gap(lacking, [&](Span run) {
        const std::size_t bytes = run.bytes();
        transfers.push_back({reinterpret_cast<void*>(run.begin),
                             upload.device + (run.begin - upload.run.begin),
                             {bytes, 1, bytes, bytes}});
      });
    });
  }
  return transfers;
}

Status OperandUpload::send(std::vector<Transfer> transfers) {
  traffic_.bytes_to_device += bytes_of(transfers);
  const auto any_pinned = copy_directly(transfers, *queues_.upload, [&](const auto& each) { return is_pinned(each); });
  if (!any_pinned) return tl::unexpected(any_pinned.error());
  pinned_ = pinned_ || *any_pinned;
  return transfers.empty() ? Status{} : staging_.upload(transfers, *queues_.upload);
}

bool OperandUpload::is_pinned(const Transfer& transfer) const {
  const Span source = host_span(transfer);
  return std::any_of(acquisition_.pins.begin(), acquisition_.pins.end(),
                     [&](const Pins::Pin* pin) { return pin && !pin->gone && pin->span.contains(source); });
}

/// Queues copies of what other devices hold.
Status OperandUpload::borrow() {
  std::vector<Span> lacking;
  for (const PageAcquisition::Upload& upload : acquisition_.uploads)
    if (upload.fresh && upload.tracked) borrowed_.each_gap(upload.run, [&](Span run) { lacking.push_back(run); });
  if (lacking.empty()) return {};
  loans_.push_back(coherence_.who_else_has(acquisition_, lacking));
  return or_from_host(copy_runs(loans_.back().runs(), true));
}

/// Queues copies of fresh pages, of those that are tracked or of the others, from another device.
Status OperandUpload::copy_runs(std::span<const PagesOnDevice> runs, bool tracked) {
  std::vector<PageAcquisition::Upload> wanted;
  for (const PageAcquisition::Upload& upload : acquisition_.uploads)
    if (upload.fresh && upload.tracked == tracked)
      borrowed_.each_gap(upload.run, [&](Span run) {
        wanted.push_back({run, upload.device + (run.begin - upload.run.begin), true, tracked});
      });
  std::ranges::sort(wanted, {}, [](const PageAcquisition::Upload& each) { return each.run.begin; });
  for (const PagesOnDevice& run : runs) {
    auto each = std::ranges::upper_bound(wanted, run.host.begin, {}, [](const auto& upload) { return upload.run.end; });
    for (; each != wanted.end() && each->run.begin < run.host.end; ++each) {
      const Span common{std::max(each->run.begin, run.host.begin), std::min(each->run.end, run.host.end)};
      const device::Address here = each->device + (common.begin - each->run.begin);
      const device::Address there = run.device + (common.begin - run.host.begin);
      if (auto copied = queues_.upload->copy_between(here, there, common.bytes()); !copied) return copied;
      borrowed_.add(common);
      traffic_.bytes_between_devices += common.bytes();
    }
  }
  return {};
}

/// Brings one slice of each matrix that other parts of the call read, too, and takes the rest from those who have
/// brought it. The links work at the same time, and so do the devices.
Status OperandUpload::bring_slices() {
  platform::IntervalSet of_others;
  for (const Span run : shared_.sharing->brought_by_others(shared_.part, shared_.number)) of_others.add(run);
  if (of_others.empty()) return {};
  if (auto sent = send(to_bring(of_others)); !sent) return sent;
  if (auto there = queues_.upload->synchronize(); !there) return there;
  share_slices(of_others);
  shared_.sharing->brought(shared_.part, shared_.number);
  const std::size_t left = bytes_of(to_bring({}));
  if (left == 0) return {};
  shared_.sharing->wait(shared_.number, borrowing_.patience + static_cast<double>(left) / slow_link);
  auto queued = borrow();
  if (queued) queued = take_offers();
  return queued;
}

/// All but the slices of others has arrived, and other calls may use it. What is tracked, other devices borrow. The
/// rest is offered to the other parts: nobody would notice later writes to it, but there are none before the call is
/// over.
void OperandUpload::share_slices(const platform::IntervalSet& of_others) {
  std::vector<Span> arrived;
  Offer own{&coherence_.device(), {}};
  platform::IntervalSet filled;
  for (const Span run : shared_.sharing->filled_by_common(shared_.part, shared_.number)) filled.add(run);
  for (const PageAcquisition::Upload& upload : acquisition_.uploads)
    of_others.each_gap(upload.run, [&](Span run) {
      arrived.push_back(run);
      if (upload.tracked) return;
      filled.each_common(run, [&](Span pages) {
        borrowed_.each_gap(pages, [&](Span from_host) {
          own.runs.push_back({from_host, upload.device + (from_host.begin - upload.run.begin)});
        });
      });
    });
  if (!own.runs.empty()) {
    shared_.sharing->offer(shared_.part, shared_.number, std::move(own));
    offered_ = true;
  }
  coherence_.loaded(acquisition_, arrived);
}

Status OperandUpload::take_offers() {
  taken_ = shared_.sharing->take(shared_.part, shared_.number);
  Status copied;
  taken_.each([&](const Offer& offer) {
    if (copied && coherence_.can_copy_from(*offer.device)) copied = or_from_host(copy_runs(offer.runs, false));
  });
  return copied;
}

void OperandUpload::arrived() {
  loans_.clear();
  taken_.release();
}

void OperandUpload::withdraw() {
  taken_.release();
  if (offered_) shared_.sharing->withdraw(shared_.part, shared_.number, borrowing_.patience);
}

}  // namespace blastoff::residency::mirror
