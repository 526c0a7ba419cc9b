#include "calibration/machine_rates.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "blas/front_end.h"
#include "calibration/device_rates.h"
#include "calibration/trial.h"
#include "platform/huge_pages.h"
#include "platform/numa.h"
#include "platform/page_moves.h"
#include "platform/stopwatch.h"
#include "platform/threads.h"
#include "platform/worker_pool.h"
#include "runtime/device_choice.h"
#include "runtime/offload.h"
#include "tracking/page_tracker.h"

namespace blastoff::calibration {
namespace {

using Json = nlohmann::ordered_json;

constexpr int repetitions = 5;

/// Page-aligned memory from the allocator that serves large blocks, written once.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes), block_(new (std::nothrow) char[bytes + page()]) {
    const auto address = reinterpret_cast<std::uintptr_t>(block_.get());
    begin_ = (address + page() - 1) / page() * page();
    if (block_) std::memset(get(), 1, bytes);
  }
  explicit operator bool() const { return block_ != nullptr; }
  void* get() const { return reinterpret_cast<void*>(begin_); }
  platform::Span span(std::size_t bytes) const { return {begin_, begin_ + bytes}; }
  std::size_t bytes() const { return bytes_; }

  static std::size_t page() { return platform::page_size(); }

 private:
  std::size_t bytes_;
  std::unique_ptr<char[]> block_;
  std::uintptr_t begin_ = 0;
};

/// Returns the shortest of several times; nothing if one attempt fails.
std::optional<double> min_seconds(const std::function<bool()>& work) {
  std::optional<double> least;
  for (int i = 0; i < repetitions; ++i) {
    const platform::Stopwatch stopwatch;
    if (!work()) return std::nullopt;
    least = std::min(least.value_or(stopwatch.seconds()), stopwatch.seconds());
  }
  return least;
}

/// Adds the rates of copies between host memory at `host` and the device, in bytes per second, under keys with
/// `prefix`.
void add_copies(Json& link, runtime::DeviceContext& context, void* host, std::size_t bytes, const std::string& prefix) {
  auto queues = context.queue_pool().acquire();
  auto there = context.device().allocate(device::MemoryClient::copies, bytes);
  if (!queues || !there) return;
  device::Queue& up = *(*queues)->upload;
  device::Queue& down = *(*queues)->download;
  const device::Block block{bytes, 1, bytes, bytes};
  const auto to = min_seconds([&] { return up.copy_to_device(*there, host, block) && up.synchronize(); });
  const auto from = min_seconds([&] { return down.copy_to_host(host, *there, block) && down.synchronize(); });
  if (to) link[prefix + "to_device"] = static_cast<double>(bytes) / *to;
  if (from) link[prefix + "from_device"] = static_cast<double>(bytes) / *from;
  context.device().free(*there);
}

/// Makes one call as a program would. Returns its time in seconds and its record, or nothing.
std::optional<std::pair<double, report::Record>> make_call(runtime::DeviceContext& context,
                                                           const operation::Operation& call,
                                                           const operation::Host& host) {
  report::Record record;
  const platform::Stopwatch stopwatch;
  if (runtime::offload(context, call, host, record) != report::Refusal::none) return std::nullopt;
  return std::pair{stopwatch.seconds(), record};
}

/// Returns the time of a small product whose matrices have been used before.
std::optional<double> call_seconds(runtime::DeviceContext& context, const operation::Host& host) {
  constexpr int first_uses = 8;
  constexpr int timed = 21;
  const auto trial = Trial::make({decide::Family::gemm, decide::Precision::d}, 96);
  std::vector<double> seconds;
  for (int i = 0; i < first_uses + timed; ++i) {
    const auto made = make_call(context, trial->operation(), host);
    if (!made) return std::nullopt;
    if (i >= first_uses) seconds.push_back(made->first);
  }
  std::ranges::nth_element(seconds, seconds.begin() + timed / 2);
  return seconds[timed / 2];
}

/// Returns the bytes per second at which matrices come to a device that has not seen them, by the policy in force.
/// Takes the best of some, because the first attempt finds no page-locked buffers.
std::optional<double> rate_of_first_uses(runtime::DeviceContext& context, const operation::Host& host, bool quick) {
  std::optional<double> best;
  for (int i = 0; i < 3; ++i) {
    const auto trial = Trial::make({decide::Family::gemv, decide::Precision::d}, quick ? 256 : 6000);
    const auto made = make_call(context, trial->operation(), host);
    if (!made) return best;
    best = std::max(best.value_or(0), static_cast<double>(made->second.traffic.bytes_to_device) / made->first);
  }
  return best;
}

/// Returns the bytes per second at which a result of `bytes` bytes comes to `host` through page-locked buffers: the
/// best of some.
std::optional<double> rate_of_results(runtime::DeviceContext& context, std::size_t bytes,
                                      const std::function<void*()>& host) {
  auto queues = context.queue_pool().acquire();
  auto there = context.device().allocate(device::MemoryClient::copies, bytes);
  if (!queues || !there) return std::nullopt;
  std::optional<double> best;
  for (int i = 0; i < repetitions; ++i) {
    const residency::Transfer transfer{.host = host(), .device = *there, .block = {bytes, 1, bytes, bytes}};
    if (transfer.host == nullptr) break;
    const platform::Stopwatch stopwatch;
    auto download = context.staging().download({&transfer, 1}, *(*queues)->download);
    if (!download || !(*download)->finish()) break;
    best = std::max(best.value_or(0), static_cast<double>(bytes) / stopwatch.seconds());
  }
  context.device().free(*there);
  return best;
}

/// Memory that is new and untouched at each call of get().
class NewMemory {
 public:
  explicit NewMemory(std::size_t bytes) : bytes_(bytes) {}
  ~NewMemory() { release(); }
  NewMemory(const NewMemory&) = delete;
  NewMemory& operator=(const NewMemory&) = delete;

  void* get() {
    release();
    return memory_ = platform::map_for_huge_pages(bytes_);
  }

 private:
  void release() {
    if (memory_ != nullptr) platform::unmap_huge_pages(memory_, bytes_);
  }

  const std::size_t bytes_;
  void* memory_ = nullptr;
};

/// Returns the bytes per second that all CPUs read of memory on the device's NUMA node. Nothing if the machine is not
/// coherent, or if the process may not use the node.
std::optional<double> rate_of_reading_there(const device::Properties& device, std::size_t bytes) {
  if (device.host_access != device::HostAccess::coherent || device.memory_node < 0) return std::nullopt;
  NewMemory memory(bytes);
  const auto* const numbers = static_cast<const std::uint64_t*>(memory.get());
  if (numbers == nullptr) return std::nullopt;
  const auto begin = reinterpret_cast<std::uintptr_t>(numbers);
  const platform::Span span{begin, begin + bytes};
  if (platform::move_to_node({&span, 1}, device.memory_node, true).on_node() < bytes) return std::nullopt;
  const auto threads = static_cast<std::size_t>(platform::cpu_count());
  const auto pool = platform::create_worker_pool(platform::cpu_count() - 1);
  const std::size_t share = bytes / sizeof(std::uint64_t) / threads;
  std::atomic<std::uint64_t> sum{0};
  const auto least = min_seconds([&] {
    pool->run(threads, [&](std::size_t part) {
      const std::uint64_t* const first = numbers + part * share;
      sum += std::accumulate(first, first + share, std::uint64_t{0});
    });
    return sum == 0;  // all pages are new: a compiler must read them to know
  });
  if (!least) return std::nullopt;
  return static_cast<double>(threads * share * sizeof(std::uint64_t)) / *least;
}

Json link_json(runtime::DeviceContext& context, const Memory& memory) {
  Json link = Json::object();
  device::Device& device = context.device();
  if (auto staging = device.allocate_staging(memory.bytes())) {
    std::memset(*staging, 1, memory.bytes());
    add_copies(link, context, *staging, memory.bytes(), "");
    device.free_staging(*staging, memory.bytes());
  }
  add_copies(link, context, memory.get(), memory.bytes(), "pageable_");
  if (const auto rate = rate_of_results(context, memory.bytes(), [&] { return memory.get(); }))
    link["staged_from_device"] = *rate;
  NewMemory untouched(memory.bytes());
  if (const auto rate = rate_of_results(context, memory.bytes(), [&] { return untouched.get(); }))
    link["first_touch_from_device"] = *rate;
  return link;
}

std::optional<Json> pinning_json(device::Device& device, const Memory& memory) {
  if (!device.may_pin()) return std::nullopt;
  const platform::Stopwatch stopwatch;
  if (!device.pin(memory.get(), memory.bytes())) return std::nullopt;
  const double seconds = stopwatch.seconds();
  device.unpin(memory.get(), memory.bytes());
  return Json{{"seconds_per_byte", seconds / static_cast<double>(memory.bytes())}};
}

/// Measures scans that find nothing written: of one page, and of much memory.
std::optional<Json> tracking_json(const config::Settings& settings, const Memory& memory) {
  auto tracker = tracking::open_page_tracker(runtime::tracker_kind(settings.tracker));
  const platform::Span all = memory.span(memory.bytes() / Memory::page() * Memory::page());
  if (!tracker || !(*tracker)->track(all)) return std::nullopt;
  std::vector<platform::Span> written;
  (void)(*tracker)->scan(all, true, written);
  const auto scan = [&](platform::Span span) {
    return min_seconds([&] {
      written.clear();
      return (*tracker)->scan(span, false, written) == tracking::PageTracker::Scan::ok;
    });
  };
  const auto little = scan(memory.span(Memory::page()));
  const auto much = scan(all);
  (*tracker)->untrack(all);
  if (!little || !much) return std::nullopt;
  const double more = static_cast<double>(all.bytes()) / 4096;
  return Json{{"method", (*tracker)->name()},
              {"scan_seconds", *little},
              {"page_seconds", std::max(0.0, *much - *little) / more}};
}

}  // namespace

Json machine_rates(runtime::DeviceContext& context, const config::Settings& settings, const operation::Host& host,
                   bool quick) {
  Json result = Json::object();
  const auto smallest = Trial::make({decide::Family::gemm, decide::Precision::d}, 16);
  if (const auto launch = seconds_on_device(context, *smallest, host)) result["launch_seconds"] = *launch;
  // If the device has little memory, a single copy may use only a small part of it.
  const std::size_t most = context.device().properties().total_memory / 32;
  const Memory memory(std::min(std::size_t{quick ? 4U : 256U} << 20, most));
  if (!memory) return result;
  result["link"] = link_json(context, memory);
  if (const auto pinning = pinning_json(context.device(), memory)) result["pinning"] = *pinning;
  if (const auto tracking = tracking_json(settings, memory)) result["tracking"] = *tracking;
  // More than the caches of the CPUs hold.
  const std::size_t uncached = std::min(std::size_t{quick ? 4U : 1024U} << 20, most / Memory::page() * Memory::page());
  if (const auto rate = rate_of_reading_there(context.device().properties(), uncached))
    result["cpu_device_memory_rate"] = *rate;
  return result;
}

void add_call_rates(Json& result, runtime::DeviceContext& context, const operation::Host& host, bool quick) {
  if (const auto seconds = call_seconds(context, host)) result["call_seconds"] = *seconds;
  if (const auto rate = rate_of_first_uses(context, host, quick); rate && *rate > 0)
    result["link"]["staged_to_device"] = *rate;
}

}  // namespace blastoff::calibration
