#include "residency/mirror/operand_upload.h"

#include <algorithm>
#include <chrono>
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
  Status borrowed;
  for (const bool tracked : {true, false}) {
    std::vector<Span> lacking;
    for (const PageAcquisition::Upload& upload : acquisition_.uploads)
      if (upload.fresh && upload.tracked == tracked)
        borrowed_.each_gap(upload.run, [&](Span run) { lacking.push_back(run); });
    if (!borrowed || lacking.empty()) continue;
    loans_.push_back(coherence_.who_else_has(acquisition_, lacking, tracked));
    borrowed = or_from_host(copy_runs(loans_.back().runs(), tracked));
  }
  return borrowed;
}

/// Queues copies of fresh pages, of those that are tracked or of the others, from other devices.
Status OperandUpload::copy_runs(std::span<const ledger::PagesOnDevice> runs, bool tracked) {
  std::vector<PageAcquisition::Upload> wanted;
  for (const PageAcquisition::Upload& upload : acquisition_.uploads)
    if (upload.fresh && upload.tracked == tracked)
      borrowed_.each_gap(upload.run, [&](Span run) {
        wanted.push_back({run, upload.device + (run.begin - upload.run.begin), true, tracked});
      });
  std::ranges::sort(wanted, {}, [](const PageAcquisition::Upload& each) { return each.run.begin; });
  for (const ledger::PagesOnDevice& run : runs) {
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

/// Brings one slice of each matrix that other parts of the call read, too, and takes the rest from the places where it
/// arrives. The links work at the same time, and so do the devices.
Status OperandUpload::bring_slices() {
  const auto slices = shared_.sharing->brought_by_others(shared_.part, shared_.number);
  if (slices.empty()) return {};
  platform::IntervalSet of_others;
  for (const Sharing::Slice& slice : slices) of_others.add(slice.pages);
  if (auto sent = send(to_bring(of_others)); !sent) return sent;
  if (auto there = queues_.upload->synchronize(); !there) return there;
  coherence_.share(acquisition_, of_others);
  const std::vector<Transfer> left = to_bring({});
  platform::IntervalSet lacking;
  for (const Transfer& transfer : left) lacking.add(host_span(transfer));
  const std::chrono::duration<double> patience(borrowing_.patience + static_cast<double>(bytes_of(left)) / slow_link);
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::ceil<std::chrono::steady_clock::duration>(patience);
  for (const Sharing::Slice& slice : slices)
    if (lacking.overlaps(slice.pages))
      if (const auto* const place = shared_.sharing->place_of(slice.part, shared_.number, until))
        coherence_.await_arrival(*place, slice.pages, until);
  return left.empty() ? Status{} : borrow();
}

}  // namespace blastoff::residency::mirror
