#include "delayed_device.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace blastoff::test {
namespace {

/// Memory that queued work still needs, both device and host addresses.
class InFlight {
 public:
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
  };
  using Work = std::list<std::vector<Range>>::iterator;

  Work add(std::vector<Range> ranges) {
    const std::lock_guard lock(mutex_);
    work_.push_front(std::move(ranges));
    return work_.begin();
  }
  void remove(Work work) {
    const std::lock_guard lock(mutex_);
    work_.erase(work);
  }
  void expect_unused(const char* operation, std::uint64_t begin, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (const auto& ranges : work_) {
      for (const Range& range : ranges) {
        if (range.begin < begin + bytes && begin < range.end) {
          ADD_FAILURE() << operation << " of " << bytes << " bytes at " << std::hex << begin
                        << " while work is in flight on " << range.begin << " to " << range.end;
        }
      }
    }
  }

 private:
  std::mutex mutex_;
  std::list<std::vector<Range>> work_;
};

/// What a delayed device shares with its queues.
struct Delays {
  explicit Delays(unsigned seed, int longest) : engine(seed), longest_microseconds(longest) {}

  void sleep() {
    int time = 0;
    {
      const std::lock_guard lock(mutex);
      if (engine() % 2 == 0) time = static_cast<int>(engine() % static_cast<unsigned>(longest_microseconds + 1));
    }
    if (time > 0) std::this_thread::sleep_for(std::chrono::microseconds(time));
  }

  std::mutex mutex;
  std::mt19937 engine;
  int longest_microseconds;
  InFlight in_flight;
};

class DelayedEvent final : public device::Event {
 public:
  /// One record(): a wait concerns the last record before it, whatever is recorded later.
  struct Record {
    std::mutex mutex;
    std::condition_variable changed;
    bool reached = false;
    std::optional<device::Error> error;

    void reach(const std::optional<device::Error>& failure) {
      const std::lock_guard lock(mutex);
      reached = true;
      error = failure;
      changed.notify_all();
    }
    device::Status wait() {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return reached; });
      if (error) return tl::unexpected(*error);
      return {};
    }
  };

  device::Status synchronize() override {
    const auto record = latest();
    return record ? record->wait() : device::Status{};
  }

  std::shared_ptr<Record> record() {
    const std::lock_guard lock(mutex_);
    return latest_ = std::make_shared<Record>();
  }
  /// Null before the first record().
  std::shared_ptr<Record> latest() {
    const std::lock_guard lock(mutex_);
    return latest_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<Record> latest_;
};

class DelayedQueue final : public device::Queue {
 public:
  DelayedQueue(std::unique_ptr<device::Queue> inner, std::shared_ptr<Delays> delays)
      : inner_(std::move(inner)), delays_(std::move(delays)), thread_([this] { work(); }) {}
  ~DelayedQueue() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  device::Status copy_to_device(device::Address destination, const void* source, const device::Block& block) override {
    return queue([=, this] { return inner_->copy_to_device(destination, source, block); },
                 {range(destination, block.device_pitch, block), range(address(source), block.host_pitch, block)});
  }
  device::Status copy_to_host(void* destination, device::Address source, const device::Block& block) override {
    return queue([=, this] { return inner_->copy_to_host(destination, source, block); },
                 {range(source, block.device_pitch, block), range(address(destination), block.host_pitch, block)});
  }
  device::Status copy_between(device::Address destination, device::Address source, std::size_t bytes) override {
    return queue([=, this] { return inner_->copy_between(destination, source, bytes); },
                 {{destination, destination + bytes}, {source, source + bytes}});
  }
  device::Status copy_triangle_to_host(void* destination, device::Address source,
                                       const device::Triangle& triangle) override {
    const auto columns = static_cast<std::size_t>(triangle.order);
    const device::Block block{columns * triangle.element_size, columns, triangle.host_pitch, triangle.device_pitch};
    return queue([=, this] { return inner_->copy_triangle_to_host(destination, source, triangle); },
                 {range(source, block.device_pitch, block), range(address(destination), block.host_pitch, block)});
  }
  device::Status execute(const operation::Operation& call, const operation::Host& host) override {
    std::vector<InFlight::Range> ranges;
    for (const operation::Operand& operand : call.operands()) {
      ranges.push_back({address(operand.address), address(operand.address) + operand.span_bytes()});
    }
    return queue([=, this, &host] { return inner_->execute(call, host); }, std::move(ranges));
  }

  device::Status permute(device::Address destination, device::Address source,
                         const device::Permutation& permutation) override {
    const std::size_t bytes = permutation.elements() * permutation.element_size;  // the tensors have no gaps
    return queue([=, this] { return inner_->permute(destination, source, permutation); },
                 {{destination, destination + bytes}, {source, source + bytes}});
  }

  device::Status prefetch(const void* memory, std::size_t bytes) override {
    return queue([=, this] { return inner_->prefetch(memory, bytes); }, {{address(memory), address(memory) + bytes}});
  }

  device::Status record(device::Event& event) override {
    return queue_always([this, record = static_cast<DelayedEvent&>(event).record()] { record->reach(error_); });
  }
  device::Status wait(device::Event& event) override {
    return queue_always([record = static_cast<DelayedEvent&>(event).latest()] {
      if (record) (void)record->wait();
    });
  }
  device::Status synchronize() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return idle_ && work_.empty(); });
    if (error_) return tl::unexpected(*error_);
    return inner_->synchronize();
  }

 private:
  static std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }
  static InFlight::Range range(std::uint64_t begin, std::size_t pitch, const device::Block& block) {
    if (block.columns == 0) return {begin, begin};
    return {begin, begin + (block.columns - 1) * pitch + block.column_bytes};
  }

  /// Queues work, which is skipped after any failure, as on a device whose context is broken.
  device::Status queue(std::function<device::Status()> body, std::vector<InFlight::Range> ranges) {
    const InFlight::Work entry = delays_->in_flight.add(std::move(ranges));
    return queue_always([this, body = std::move(body), entry] {
      delays_->sleep();
      if (!error_) {
        auto done = body();
        if (done) done = inner_->synchronize();
        if (!done) fail(done.error());
      }
      delays_->in_flight.remove(entry);
    });
  }
  device::Status queue_always(std::function<void()> body) {
    {
      const std::lock_guard lock(mutex_);
      work_.push_back(std::move(body));
    }
    changed_.notify_all();
    return {};
  }
  void fail(device::Error error) {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || !work_.empty(); });
      if (work_.empty()) return;
      auto body = std::move(work_.front());
      work_.pop_front();
      idle_ = false;
      lock.unlock();
      body();
      body = nullptr;
      lock.lock();
      idle_ = true;
      changed_.notify_all();
    }
  }

  std::unique_ptr<device::Queue> inner_;
  std::shared_ptr<Delays> delays_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::optional<device::Error> error_;  // only the thread writes it
  bool idle_ = true;
  bool stopping_ = false;
  std::thread thread_;
};

/// Represents a stream of the program: a delayed queue that a test has created, given by its address.
class AdoptedQueue final : public device::Queue {
 public:
  explicit AdoptedQueue(void* stream) : stream_(*static_cast<device::Queue*>(stream)) {}

  device::Status copy_to_device(device::Address destination, const void* source, const device::Block& block) override {
    return stream_.copy_to_device(destination, source, block);
  }
  device::Status copy_to_host(void* destination, device::Address source, const device::Block& block) override {
    return stream_.copy_to_host(destination, source, block);
  }
  device::Status copy_triangle_to_host(void* destination, device::Address source,
                                       const device::Triangle& triangle) override {
    return stream_.copy_triangle_to_host(destination, source, triangle);
  }
  device::Status execute(const operation::Operation& call, const operation::Host& host) override {
    return stream_.execute(call, host);
  }
  device::Status prefetch(const void* memory, std::size_t bytes) override { return stream_.prefetch(memory, bytes); }
  device::Status record(device::Event& event) override { return stream_.record(event); }
  device::Status wait(device::Event& event) override { return stream_.wait(event); }
  device::Status synchronize() override { return stream_.synchronize(); }

 private:
  device::Queue& stream_;
};

class DelayedDevice final : public ForwardingDevice {
 public:
  DelayedDevice(std::unique_ptr<device::Device> inner, unsigned seed, int longest_microseconds)
      : ForwardingDevice(std::move(inner)), delays_(std::make_shared<Delays>(seed, longest_microseconds)) {}

  device::Result<std::unique_ptr<device::Queue>> create_queue() override {
    auto queue = inner().create_queue();
    if (!queue) return queue;
    return std::make_unique<DelayedQueue>(std::move(*queue), delays_);
  }
  device::Result<std::unique_ptr<device::Queue>> adopt_queue(void* stream) override {
    return std::make_unique<AdoptedQueue>(stream);
  }
  device::Result<std::unique_ptr<device::Event>> create_event() override { return std::make_unique<DelayedEvent>(); }

  void free(device::Address address) override {
    delays_->in_flight.expect_unused("free", address, 1);
    ForwardingDevice::free(address);
  }
  void release(device::Address address, std::size_t bytes) override {
    delays_->in_flight.expect_unused("release", address, bytes);
    ForwardingDevice::release(address, bytes);
  }
  device::Status back(device::MemoryClient client, device::Address address, std::size_t bytes) override {
    delays_->sleep();
    return ForwardingDevice::back(client, address, bytes);
  }
  void unback(device::Address address, std::size_t bytes) override {
    delays_->in_flight.expect_unused("unback", address, bytes);
    ForwardingDevice::unback(address, bytes);
  }
  void free_staging(void* address, std::size_t bytes) override {
    delays_->in_flight.expect_unused("free_staging", reinterpret_cast<std::uint64_t>(address), bytes);
    ForwardingDevice::free_staging(address, bytes);
  }
  device::Status pin(void* address, std::size_t bytes) override {
    delays_->sleep();
    return ForwardingDevice::pin(address, bytes);
  }
  void unpin(void* address, std::size_t bytes) override {
    delays_->in_flight.expect_unused("unpin", reinterpret_cast<std::uint64_t>(address), bytes);
    ForwardingDevice::unpin(address, bytes);
  }

 private:
  std::shared_ptr<Delays> delays_;
};

}  // namespace

std::unique_ptr<device::Device> delayed(std::unique_ptr<device::Device> device, unsigned seed,
                                        int longest_microseconds) {
  return std::make_unique<DelayedDevice>(std::move(device), seed, longest_microseconds);
}

}  // namespace blastoff::test
