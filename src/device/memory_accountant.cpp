#include "device/memory_accountant.h"

#include <algorithm>

#include <fmt/format.h>

namespace blastoff::device {
namespace {

double mebibytes(std::size_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

}  // namespace

const char* to_string(MemoryClient client) {
  switch (client) {
    case MemoryClient::mirrors: return "mirrors";
    case MemoryClient::copies: return "copies";
    case MemoryClient::workspaces: return "workspaces";
  }
  return "";
}

void MemoryAccountant::limit(MemoryClient client, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  account(client).limit = bytes;
}

bool MemoryAccountant::fits(MemoryClient client, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  return account(client).fits(bytes);
}

MemoryHeld MemoryAccountant::held(MemoryClient client) const {
  const std::lock_guard lock(mutex_);
  return account(client).held;
}

void MemoryAccountant::discharge(Address address) {
  const std::lock_guard lock(mutex_);
  const auto found = charges_.find(address);
  if (found == charges_.end()) return;
  account(found->second.client).held.now -= found->second.bytes;
  charges_.erase(found);
}

// Before the memory is allocated, so that threads do not exceed the limit together.
Status MemoryAccountant::take(MemoryClient client, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  Account& its = account(client);
  if (!its.fits(bytes)) {
    return tl::unexpected(
        Error{ErrorKind::out_of_memory,
              fmt::format("{} need {:.1f} MiB beside {:.1f} MiB in use, the budget is {:.1f} MiB", to_string(client),
                          mebibytes(bytes), mebibytes(its.held.now), mebibytes(its.limit))});
  }
  its.held.now += bytes;
  return {};
}

void MemoryAccountant::enter(Address address, Charge charge) {
  const std::lock_guard lock(mutex_);
  charges_.insert_or_assign(address, charge);
  MemoryHeld& held = account(charge.client).held;
  held.most = std::max(held.most, held.now);
}

void MemoryAccountant::give_back(Charge charge) {
  const std::lock_guard lock(mutex_);
  account(charge.client).held.now -= charge.bytes;
}

}  // namespace blastoff::device
