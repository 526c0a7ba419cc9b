#include "device/simulated/memory.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <sys/mman.h>

#include "platform/contained.h"
#include "platform/memory_limits.h"
#include "platform/span.h"

namespace blastoff::device::simulated {
namespace {

constexpr std::size_t retired_ranges = 256;
constexpr std::size_t page = 4096;  // for this accounting; the kernel rounds mappings itself

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

void* pointer(Address address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}
Address address_of(void* pointer) {
  return static_cast<Address>(reinterpret_cast<std::uintptr_t>(pointer));
}

void* map_inaccessible(std::size_t bytes) {
  void* mapped = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

/// Frees the memory and keeps the addresses. `protection`: whether they can still be read.
void drop(Address address, std::size_t bytes, int protection) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(pointer(address), bytes, protection, flags, -1, 0) == MAP_FAILED)
    mprotect(pointer(address), bytes, protection);
}

/// Pages that are only read take no memory.
void make_readable(Address address, std::size_t bytes) {
  if (bytes > 0) mprotect(pointer(address), bytes, PROT_READ);
}

bool make_accessible(Address address, std::size_t bytes) {
  return mprotect(pointer(address), bytes, PROT_READ | PROT_WRITE) == 0;
}

/// The largest mapping, up to 64 GiB; less if address space is limited (ulimit -v, sanitizers).
std::size_t probe_largest_reservation() {
  const std::size_t max_bytes = platform::address_space_left() / 8;  // the program may need the rest meanwhile
  for (std::size_t bytes = std::size_t{64} << 30; bytes >= granularity; bytes /= 2) {
    if (bytes > max_bytes) continue;
    if (void* mapped = map_inaccessible(bytes + granularity)) {
      munmap(mapped, bytes + granularity);
      return bytes;
    }
  }
  return 0;
}

/// How far the spans of `map` cover the addresses from `address` on without a gap.
Address covered_until(const std::map<Address, std::size_t>& map, Address address) {
  auto next = map.upper_bound(address);
  if (next == map.begin()) return address;
  auto span = std::prev(next);
  Address end = span->first + span->second;
  if (end <= address) return address;
  for (; next != map.end() && next->first == end; ++next) end += next->second;
  return end;
}

}  // namespace

// Not instrumented by ThreadSanitizer: no other code uses the memory yet, and there may be much of it.
__attribute__((no_sanitize("thread"))) void fill_fresh(void* address, std::size_t bytes) {
  auto* words = static_cast<std::uint32_t*>(address);
  for (std::size_t i = 0; i < bytes / sizeof(std::uint32_t); ++i) words[i] = fresh_word;
}

Memory::Memory(std::size_t total, bool slack)
    : total_(total), slack_(slack), largest_reservation_(probe_largest_reservation()) {}

Memory::~Memory() {
  for (const auto& [address, allocation] : allocations_) munmap(pointer(address), allocation.mapped);
  for (const auto& [address, bytes] : reservations_) munmap(pointer(address), bytes + slack_behind(bytes));
  for (const auto& [address, bytes] : retired_) munmap(pointer(address), bytes);
}

/// Room for some columns of a narrow matrix, or for one column of a wide matrix.
std::size_t Memory::slack_behind(std::size_t bytes) const {
  constexpr std::size_t min_slack = std::size_t{64} << 10;
  constexpr std::size_t max_slack = std::size_t{4} << 20;
  return slack_ ? std::clamp(bytes, min_slack, max_slack) : 0;
}

std::size_t Memory::unused() const {
  const std::shared_lock lock(mutex_);
  return total_ - used_;
}

Result<Address> Memory::map(std::size_t bytes, std::size_t alignment, std::string_view operation) const {
  void* mapped = map_inaccessible(bytes + alignment);
  if (mapped == nullptr) {
    return tl::unexpected(
        Error{ErrorKind::out_of_memory,
              fmt::format("simulated {} of {} bytes: the process has no address space", operation, bytes)});
  }
  const Address begin = address_of(mapped);
  const Address aligned = round_up(begin, alignment);
  if (aligned > begin) munmap(mapped, aligned - begin);
  if (const std::size_t tail = begin + alignment - aligned; tail > 0) munmap(pointer(aligned + bytes), tail);
  return aligned;
}

Result<Address> Memory::allocate(std::size_t bytes) {
  const std::size_t rounded = round_up(std::max<std::size_t>(bytes, 1), std::max(page, platform::page_size()));
  const std::unique_lock lock(mutex_);
  if (rounded < bytes || rounded > total_ - used_) {
    return tl::unexpected(
        Error{ErrorKind::out_of_memory,
              fmt::format("simulated allocate of {} bytes: {} of {} bytes are free", bytes, total_ - used_, total_)});
  }
  const std::size_t slack = slack_behind(rounded);
  auto address = map(rounded + slack, std::max(page, platform::page_size()), "allocate");
  if (!address) return address;
  const bool entered = platform::contained([&] {
    allocations_.emplace(*address, Allocation{bytes, rounded, rounded + slack});
  });
  if (!entered || !make_accessible(*address, rounded)) {
    if (entered) allocations_.erase(*address);
    munmap(pointer(*address), rounded + slack);
    return tl::unexpected(
        Error{ErrorKind::out_of_memory, fmt::format("simulated allocate of {} bytes: no host memory", bytes)});
  }
  make_readable(*address + rounded, slack);
  fill_fresh(pointer(*address), rounded);
  used_ += rounded;
  return address;
}

bool Memory::free(Address address) {
  const std::unique_lock lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  used_ -= found->second.pages;
  retire(found->first, found->second.mapped);
  allocations_.erase(found);
  return true;
}

Result<Address> Memory::reserve(std::size_t bytes) {
  const std::size_t rounded = round_up(std::max<std::size_t>(bytes, 1), granularity);
  if (rounded > largest_reservation_ || bytes > largest_reservation_) {
    return tl::unexpected(Error{ErrorKind::out_of_memory,
                                fmt::format("simulated reserve of {} bytes: at most {}", bytes, largest_reservation_)});
  }
  const std::unique_lock lock(mutex_);
  const std::size_t mapped = rounded + slack_behind(rounded);
  auto address = map(mapped, granularity, "reserve");
  if (!address) return address;
  if (!platform::contained([&] { reservations_.emplace(*address, rounded); })) {
    munmap(pointer(*address), mapped);
    return tl::unexpected(no_host_memory());
  }
  if (slack_) make_readable(*address, mapped);
  return address;
}

bool Memory::release(Address address, std::size_t bytes) {
  const std::unique_lock lock(mutex_);
  const auto found = reservations_.find(address);
  if (found == reservations_.end() || found->second != round_up(std::max<std::size_t>(bytes, 1), granularity))
    return false;
  const Address end = address + found->second;
  const auto backed = backed_.lower_bound(address);
  if (backed != backed_.end() && backed->first < end) return false;
  retire(address, found->second + slack_behind(found->second));
  reservations_.erase(found);
  return true;
}

Status Memory::back(Address address, std::size_t bytes) {
  const std::unique_lock lock(mutex_);
  const auto refuse = [&](ErrorKind kind, std::string_view why) -> Status {
    return tl::unexpected(Error{kind, fmt::format("simulated back of {} bytes at {:#x}: {}", bytes, address, why)});
  };
  const auto next = reservations_.upper_bound(address);
  if (bytes == 0 || bytes % granularity != 0 || address % granularity != 0) {
    return refuse(ErrorKind::unsupported, "not in units of the backing granularity");
  }
  if (next == reservations_.begin() || std::prev(next)->first + std::prev(next)->second < address + bytes) {
    return refuse(ErrorKind::unsupported, "not within one reservation");
  }
  const auto after = backed_.lower_bound(address);
  if ((after != backed_.end() && after->first < address + bytes) || covered_until(backed_, address) > address) {
    return refuse(ErrorKind::unsupported, "part of it is backed already");
  }
  if (bytes > total_ - used_) return refuse(ErrorKind::out_of_memory, fmt::format("{} bytes are free", total_ - used_));
  const auto entered = backed_.emplace(address, bytes).first;
  if (!make_accessible(address, bytes)) {
    backed_.erase(entered);
    return refuse(ErrorKind::out_of_memory, "no host memory");
  }
  fill_fresh(pointer(address), bytes);
  used_ += bytes;
  return {};
}

bool Memory::unback(Address address, std::size_t bytes) {
  const std::unique_lock lock(mutex_);
  const auto found = backed_.find(address);
  if (found == backed_.end() || found->second != bytes) return false;
  drop(address, bytes, slack_ ? PROT_READ : PROT_NONE);
  used_ -= bytes;
  backed_.erase(found);
  return true;
}

bool Memory::holds(Address address, std::size_t bytes) const {
  if (bytes == 0) return true;
  const std::shared_lock lock(mutex_);
  const Address end = address + bytes;
  if (end < address) return false;
  const auto next = allocations_.upper_bound(address);
  if (next != allocations_.begin() && std::prev(next)->first + std::prev(next)->second.bytes >= end) return true;
  return covered_until(backed_, address) >= end;
}

void Memory::retire(Address address, std::size_t bytes) {
  drop(address, bytes, PROT_NONE);
  if (!platform::contained([&] { retired_.emplace_back(address, bytes); })) {
    munmap(pointer(address), bytes);
    return;
  }
  if (retired_.size() > retired_ranges) {
    munmap(pointer(retired_.front().first), retired_.front().second);
    retired_.pop_front();
  }
}

}  // namespace blastoff::device::simulated
