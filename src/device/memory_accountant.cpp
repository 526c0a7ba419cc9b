#include "device/memory_accountant.h"

#include <algorithm>

#include <fmt/format.h>

#include "platform/quantity.h"

namespace blastoff::device {

using platform::format_bytes;

const char* to_string(MemoryClient client) {
  switch (client) {
    case MemoryClient::mirrors: return "mirrors";
    case MemoryClient::copies: return "copies";
    case MemoryClient::workspaces: return "workspaces";
    case MemoryClient::blocks: return "blocks";
  }
  return "";
}

void MemoryAccountant::limit(MemoryClient client, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  account(client).limit = bytes;
}

std::size_t MemoryAccountant::limit_of(MemoryClient client) const {
  const std::lock_guard lock(mutex_);
  return account(client).limit;
}

bool MemoryAccountant::fits(MemoryClient client, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  return account(client).fits(bytes);
}

MemoryHeld MemoryAccountant::held(MemoryClient client) const {
  const std::lock_guard lock(mutex_);
  return account(client).held;
}

namespace {

std::atomic<std::uint64_t>& locked(platform::MemoryGauge& gauge, PageLocked kind) {
  return kind == PageLocked::pinned ? gauge.pinned : gauge.staged;
}

}  // namespace

void MemoryAccountant::lock(PageLocked kind, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  locked(*gauge_, kind) += bytes;
}

void MemoryAccountant::unlock(PageLocked kind, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  locked(*gauge_, kind) -= bytes;
}

void MemoryAccountant::show_in(platform::MemoryGauge& gauge) {
  const std::lock_guard lock(mutex_);
  gauge.device += gauge_->device.exchange(0);
  gauge.mirrored += gauge_->mirrored.exchange(0);
  gauge.pinned += gauge_->pinned.exchange(0);
  gauge.staged += gauge_->staged.exchange(0);
  gauge_ = &gauge;
}

void MemoryAccountant::show(Charge charge) {
  gauge_->device += charge.bytes;
  if (charge.client == MemoryClient::mirrors) gauge_->mirrored += charge.bytes;
}

void MemoryAccountant::show_no_longer(Charge charge) {
  gauge_->device -= charge.bytes;
  if (charge.client == MemoryClient::mirrors) gauge_->mirrored -= charge.bytes;
}

void MemoryAccountant::discharge(Address address) {
  const std::lock_guard lock(mutex_);
  const auto found = charges_.find(address);
  if (found == charges_.end()) return;
  account(found->second.client).held.now -= found->second.bytes;
  show_no_longer(found->second);
  charges_.erase(found);
}

// To be called before the memory is allocated, so that several threads together do not exceed the limit.
Status MemoryAccountant::take(MemoryClient client, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  Account& its = account(client);
  if (!its.fits(bytes)) {
    return tl::unexpected(Error{ErrorKind::out_of_memory,
                                fmt::format("{} need {} beside {} in use, the budget is {}", to_string(client),
                                            format_bytes(bytes), format_bytes(its.held.now), format_bytes(its.limit))});
  }
  its.held.now += bytes;
  return {};
}

void MemoryAccountant::enter(Address address, Charges& entry) {
  const std::lock_guard lock(mutex_);
  const Charge charge = entry.begin()->second;
  auto node = entry.extract(entry.begin());
  node.key() = address;
  charges_.erase(address);
  charges_.insert(std::move(node));
  show(charge);
  MemoryHeld& held = account(charge.client).held;
  held.most = std::max(held.most, held.now);
}

void MemoryAccountant::give_back(Charge charge) {
  const std::lock_guard lock(mutex_);
  account(charge.client).held.now -= charge.bytes;
}

}  // namespace blastoff::device
