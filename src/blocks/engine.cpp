#include "blocks/engine.h"

#include <new>
#include <utility>

#include <fmt/format.h>

#include "blocks/product.h"
#include "platform/memory_limits.h"

namespace blastoff::blocks {

namespace {

constexpr std::align_val_t plain_alignment{4096};

std::uint64_t number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

device::MemorySource plain_memory() {
  return {[](std::size_t bytes) -> device::Result<std::uint64_t> {
            if (void* const memory = ::operator new(bytes, plain_alignment, std::nothrow)) return number(memory);
            return tl::unexpected(device::Error{device::ErrorKind::out_of_memory,
                                                fmt::format("no {} bytes of host memory for a block", bytes)});
          },
          [](std::uint64_t address, std::size_t) { ::operator delete(host_pointer(address), plain_alignment); }};
}

/// For all devices of its kind.
device::MemorySource pinned_memory(device::Device& device) {
  return {[&device](std::size_t bytes) { return device.allocate_staging(bytes).map(number); },
          [&device](std::uint64_t address, std::size_t bytes) { device.free_staging(host_pointer(address), bytes); }};
}

void add(device::PoolCounts& sum, const device::PoolCounts& counts) {
  sum.hits += counts.hits;
  sum.misses += counts.misses;
  sum.bytes += counts.bytes;
  sum.seconds += counts.seconds;
}

}  // namespace

Engine::Engine(Setup setup)
    : setup_(std::move(setup)),
      own_host_(setup_.host == nullptr ? std::make_unique<Product>() : nullptr),
      host_(own_host_ ? own_host_.get() : setup_.host),
      watch_(setup_.ledger),
      plain_(plain_memory()) {
  for (device::Device* device : setup_.devices) sites_.push_back(std::make_unique<Site>(*device));
  if (!setup_.devices.empty()) pinned_ = std::make_unique<device::MemoryPool>(pinned_memory(*setup_.devices.front()));
  set_options({});
}

Engine::~Engine() {
  (void)synchronize();
}

Options Engine::options() const {
  const std::lock_guard lock(mutex_);
  return options_;
}

void Engine::set_options(const Options& options) {
  {
    const std::lock_guard lock(mutex_);
    options_ = options;
  }
  plain_.keep(options.pooled);
  if (pinned_) {
    pinned_->limit(options.pinned_memory > 0 ? options.pinned_memory : platform::usable_memory() / 2);
    pinned_->keep(options.pooled);
  }
  for (const auto& site : sites_) {
    site->pool().limit(options.device_memory > 0 ? options.device_memory : SIZE_MAX);
    site->pool().keep(options.pooled);
    site->copies().set_count(options.streams);
  }
}

MemoryCounts Engine::memory_counts() const {
  MemoryCounts counts;
  add(counts.host, plain_.counts());
  if (pinned_) add(counts.host, pinned_->counts());
  for (const auto& site : sites_) add(counts.device, site->pool().counts());
  return counts;
}

Result<std::unique_ptr<ProgramMemory>> Engine::watch_memory(void* memory, std::size_t bytes) {
  const auto begin = static_cast<std::uintptr_t>(number(memory));
  auto watched = watch_.open({begin, begin + bytes});
  if (watched && setup_.unlock) setup_.unlock(platform::outward_to_pages((*watched)->bytes()));
  return watched;
}

Status Engine::synchronize() {
  Status first;
  for (const auto& site : sites_) {
    for (const auto& done : {site->copies().synchronize(), site->compute().synchronize()}) {
      if (done) continue;
      site->note(done.error());
      if (first) first = failure(done.error());
    }
  }
  return first;
}

void Engine::trim() {
  plain_.trim();
  if (pinned_) pinned_->trim();
  for (const auto& site : sites_) site->pool().trim();
}

device::Result<device::PooledMemory> Engine::host_memory(std::size_t bytes) {
  if (pinned_ && options().pinned) {
    auto memory = pinned_->take(bytes);
    if (memory) return memory;
    ++counters_.host_plain;
  }
  return plain_.take(bytes);
}

device::Result<device::PooledMemory> Engine::device_memory(int place, std::size_t bytes) {
  device::MemoryPool& pool = site(place).pool();
  const auto short_of_memory = [](const device::Result<device::PooledMemory>& memory) {
    return !memory && memory.error().kind == device::ErrorKind::out_of_memory;
  };
  auto memory = pool.take(bytes);
  while (short_of_memory(memory) && evict_oldest(place)) memory = pool.take(bytes);
  if (short_of_memory(memory) && setup_.relieve) {
    setup_.relieve();
    memory = pool.take(bytes);
  }
  return memory;
}

/// False: no block there could be evicted. (While one is claimed, it does not end.)
bool Engine::evict_oldest(int place) {
  std::unique_lock<std::mutex> claim;
  Block* victim = nullptr;
  site(place).visit_oldest([&](Block& block) {
    claim = block.try_claim(place);
    victim = &block;
    return claim.owns_lock();
  });
  return claim.owns_lock() && victim->evict_claimed(place);
}

}  // namespace blastoff::blocks
