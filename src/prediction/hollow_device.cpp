#include "prediction/hollow_device.h"

#include <new>
#include <unordered_map>

#include "operation/amounts.h"
#include "prediction/replayed_tracker.h"

namespace blastoff::prediction {
namespace {

using device::Address;
using device::Block;
using device::Error;
using device::ErrorKind;
using device::Event;
using device::Result;
using device::Status;

constexpr std::size_t granularity = std::size_t{2} << 20;
constexpr std::align_val_t staging_alignment{4096};

double bytes_of(const Block& block) {
  return static_cast<double>(block.column_bytes) * static_cast<double>(block.columns);
}

/// The timeline of a machine, on which work takes its time.
struct Road {
  const Machine* machine;
  Clock* clock;
  Engines* engines;

  /// Work starts when the queue, the engine and the thread are ready. Returns when it is over. The simulated device
  /// works in the calling thread, which therefore waits.
  double take(double after, double Engines::*engine, double seconds) const {
    double& free_at = engines->*engine;
    const double end = std::max({after, free_at, clock->now}) + seconds;
    free_at = end;
    if (machine->simulated) clock->wait_until(end);
    return end;
  }
};

class HollowEvent final : public Event {
 public:
  explicit HollowEvent(Clock& clock) : clock_(clock) {}
  Status synchronize() override {
    clock_.wait_until(time);
    return {};
  }
  double time = 0;

 private:
  Clock& clock_;
};

class HollowQueue final : public device::Queue {
 public:
  explicit HollowQueue(const Road& road) : road_(road) {}

  Status copy_to_device(Address, const void*, const Block& block) override {
    return advance(&Engines::to_device, bytes_of(block) / road_.machine->pinned_to_device);
  }
  Status copy_to_host(void*, Address, const Block& block) override {
    return advance(&Engines::from_device, bytes_of(block) / road_.machine->pinned_from_device);
  }
  Status copy_triangle_to_host(void*, Address, const device::Triangle& triangle) override {
    const double order = static_cast<double>(triangle.order);
    const double block = static_cast<double>(std::min(triangle.order, triangle.block_order));
    const double bytes = order * (block + 1) / 2 * static_cast<double>(triangle.element_size);
    return advance(&Engines::from_device, bytes / road_.machine->pinned_from_device);
  }
  Status execute(const operation::Operation& operation, const operation::Host&) override {
    double seconds = road_.machine->work_seconds(operation);
    if (reads_host_memory(operation))
      seconds = std::max(seconds, static_cast<double>(part_bytes(operation)) / road_.machine->to_device());
    road_.engines->computed += seconds;
    return advance(&Engines::compute, seconds);
  }
  /// As for cuSOLVER: the operations that may fail are LAPACK's.
  bool copies_heap_memory(const operation::Operation& operation) override {
    return !road_.machine->simulated && operation.may_fail;
  }
  Status prefetch(const void*, std::size_t) override { return {}; }
  Status record(Event& event) override {
    static_cast<HollowEvent&>(event).time = done_;
    return {};
  }
  Status wait(Event& event) override {
    done_ = std::max(done_, static_cast<HollowEvent&>(event).time);
    return {};
  }
  Status synchronize() override {
    road_.clock->wait_until(done_);
    return {};
  }

  /// When all queued work is over.
  double done() const { return done_; }
  void set_done(double time) { done_ = time; }

 private:
  Status advance(double Engines::*engine, double seconds) {
    done_ = road_.take(done_, engine, seconds);
    return {};
  }
  /// Whether the operation reads its operands through the link. Otherwise the device has copies in its own memory.
  bool reads_host_memory(const operation::Operation& operation) const {
    if (road_.machine->access != device::HostAccess::coherent || operation.operands().empty()) return false;
    return reinterpret_cast<std::uintptr_t>(operation.operands()[0].address) < first_address;
  }

 public:
  /// No host address of this system reaches these device addresses.
  static constexpr Address first_address = Address{1} << 52;

 private:
  Road road_;
  double done_ = 0;
};

class HollowDevice final : public device::Device {
 public:
  HollowDevice(const Road& road, std::size_t memory) : road_(road), memory_(memory) {
    properties_.kind = "replayed";
    properties_.name = road.machine->model().name;
    properties_.software = "none";
    properties_.total_memory = memory;
    properties_.can_reserve = true;
    properties_.backing_granularity = granularity;
    properties_.largest_reservation = std::size_t{1} << 40;
    properties_.host_access = road.machine->access;
    properties_.can_pin = !road.machine->simulated;
  }

  const device::Properties& properties() const override { return properties_; }
  Result<device::MemoryInfo> memory_info() override { return device::MemoryInfo{memory_ - used_, memory_}; }
  device::MemoryAccountant& accountant() override { return accountant_; }
  std::optional<device::OwnTime> own_time() const override { return device::OwnTime{.total = road_.clock->now}; }

  Result<std::unique_ptr<device::Queue>> create_queue() override { return std::make_unique<HollowQueue>(road_); }
  Result<std::unique_ptr<Event>> create_event() override { return std::make_unique<HollowEvent>(*road_.clock); }

  Result<Address> allocate(device::MemoryClient client, std::size_t bytes) override {
    return accountant_.charge(client, bytes, [&]() -> Result<Address> {
      if (auto taken = take(bytes); !taken) return tl::unexpected(taken.error());
      const Address address = next(bytes);
      sizes_[address] = bytes;
      return address;
    });
  }
  void free(Address address) override {
    accountant_.discharge(address);
    const auto found = sizes_.find(address);
    if (found == sizes_.end()) return;
    used_ -= found->second;
    sizes_.erase(found);
  }
  Result<Address> reserve(std::size_t bytes) override { return next(bytes); }
  void release(Address, std::size_t) override {}
  Status back(device::MemoryClient client, Address address, std::size_t bytes) override {
    return accountant_.charge(client, address, bytes, [&] { return take(bytes); });
  }
  void unback(Address address, std::size_t bytes) override {
    accountant_.discharge(address);
    used_ -= bytes;
  }
  Result<void*> allocate_staging(std::size_t bytes) override {
    return ::operator new(bytes, staging_alignment);  // a little memory in which a call keeps its marks
  }
  void free_staging(void* address, std::size_t) override { ::operator delete(address, staging_alignment); }
  Status pin(void*, std::size_t bytes) override {
    road_.clock->now += static_cast<double>(bytes) * road_.machine->pin_seconds_per_byte;
    return {};
  }
  void unpin(void*, std::size_t) override {}
  bool registered_by_program(const void*) override { return false; }

 private:
  Status take(std::size_t bytes) {
    if (bytes > memory_ - used_) return tl::unexpected(Error{ErrorKind::out_of_memory, "the device's memory is full"});
    used_ += bytes;
    return {};
  }
  Address next(std::size_t bytes) {
    const Address address = next_;
    next_ += (bytes / granularity + 1) * granularity;
    return address;
  }

  const Road road_;
  const std::size_t memory_;
  std::size_t used_ = 0;
  Address next_ = HollowQueue::first_address;
  std::unordered_map<Address, std::size_t> sizes_;
  device::MemoryAccountant accountant_;
  device::Properties properties_;
};

class HollowDownload final : public residency::Staging::Download {
 public:
  HollowDownload(Clock& clock, double arrives) : clock_(clock), arrives_(arrives) {}
  Status finish() override {
    clock_.wait_until(arrives_);
    finished_ = true;
    return {};
  }
  bool host_touched() const override { return finished_; }

 private:
  Clock& clock_;
  const double arrives_;
  bool finished_ = false;
};

class HollowStaging final : public residency::Staging {
 public:
  HollowStaging(const Road& road, ReplayedTracker& tracker) : road_(road), tracker_(tracker) {}

  Status upload(std::span<const residency::Transfer> transfers, device::Queue& queue) override {
    auto& hollow = static_cast<HollowQueue&>(queue);
    double bytes = 0;
    for (const residency::Transfer& transfer : transfers) bytes += bytes_of(transfer.block);
    const double end = road_.take(hollow.done(), &Engines::to_device, bytes / road_.machine->to_device());
    hollow.set_done(end);
    road_.clock->wait_until(end);  // the CPU has read everything when this returns
    return {};
  }

  std::size_t whole_download_bytes() const override { return std::size_t{64} << 20; }

  Result<std::unique_ptr<Download>> download(std::span<const residency::Transfer> transfers,
                                             device::Queue& queue) override {
    auto& hollow = static_cast<HollowQueue&>(queue);
    double seconds = 0;
    for (const residency::Transfer& transfer : transfers) {
      const double share = transfer.part == operation::Part::full ? 1 : 0.5;
      std::size_t new_bytes = 0;
      each_run(transfer.host, transfer.block, [&](platform::Span run) {
        new_bytes += tracker_.new_bytes(run);
        tracker_.replay_write(platform::outward_to_pages(run));
      });
      const double fresh = std::min(static_cast<double>(new_bytes), bytes_of(transfer.block));
      seconds += share * (fresh / road_.machine->first_touch_from_device +
                          (bytes_of(transfer.block) - fresh) / road_.machine->from_device());
    }
    const double end = road_.take(hollow.done(), &Engines::from_device, seconds);
    hollow.set_done(end);
    return std::make_unique<HollowDownload>(*road_.clock, end);
  }

 private:
  /// Gaps between columns count only if they may hold a whole page.
  template <class Visit>
  static void each_run(const void* host, const Block& block, const Visit& visit) {
    const auto begin = reinterpret_cast<std::uintptr_t>(host);
    const bool gaps = block.columns > 1 && block.host_pitch - block.column_bytes >= platform::page_size();
    if (!gaps) return visit({begin, begin + (block.columns - 1) * block.host_pitch + block.column_bytes});
    for (std::size_t column = 0; column < block.columns; ++column) {
      const std::uintptr_t start = begin + column * block.host_pitch;
      visit({start, start + block.column_bytes});
    }
  }

  const Road road_;
  ReplayedTracker& tracker_;
};

}  // namespace

std::unique_ptr<device::Device> hollow_device(const Machine& machine, Clock& clock, Engines& engines,
                                              std::size_t memory) {
  return std::make_unique<HollowDevice>(Road{&machine, &clock, &engines}, memory);
}

std::unique_ptr<residency::Staging> hollow_staging(const Machine& machine, Clock& clock, Engines& engines,
                                                   ReplayedTracker& tracker) {
  return std::make_unique<HollowStaging>(Road{&machine, &clock, &engines}, tracker);
}

}  // namespace blastoff::prediction
