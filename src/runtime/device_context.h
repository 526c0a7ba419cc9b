// The device of this process: opened at the first call that is large enough, then shared by all threads until the
// process ends.
#pragma once

#include <atomic>
#include <bitset>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "decide/machine_model.h"
#include "device/device.h"
#include "device/memory_pool.h"
#include "device/queue_pool.h"
#include "ledger/ledger.h"
#include "operation/front_end.h"
#include "platform/worker_pool.h"
#include "report/context.h"
#include "report/record.h"
#include "residency/first_use_policy.h"
#include "residency/mirror/pins.h"
#include "residency/policy.h"
#include "residency/staging.h"
#include "runtime/mechanism.h"
#include "runtime/segment_policy.h"
#include "tracking/memory_events.h"

namespace blastoff::runtime {

/// The parts of a device context that differ between a process with a device and the replay of a trace.
struct Parts {
  std::unique_ptr<device::Device> device;
  std::unique_ptr<residency::Staging> staging;  ///< nullptr: page-locked memory of the device
  std::shared_ptr<ledger::Ledger> ledger;       ///< for mirrors; nullptr: one with the tracker that the settings name
  std::optional<residency::FirstUseSettings> mirrors;  ///< nullopt: the settings for this machine
  /// The devices of a process share the next three; nullptr if there is only one.
  std::shared_ptr<residency::mirror::Pins> pins = nullptr;
  std::shared_ptr<device::DirectCopies> direct_copies = nullptr;  ///< nullptr also if they give each other nothing
  std::shared_ptr<std::atomic<int>> working = nullptr;            ///< number of devices that are not lost
  int devices = 1;  ///< number of devices, which divide the copying threads among them
};

/// The error that ends the opening of devices when it is no longer wanted.
tl::unexpected<device::Error> process_was_ending();

/// Never destroyed: device calls during process exit are not safe, and the system frees everything.
class DeviceContext {
 public:
  /// Opens the first device that the settings name, with staging, tracker and policies. The error is one line. Between
  /// its steps it calls `unwanted`, and gives up if that returns true.
  static device::Result<std::unique_ptr<DeviceContext>> start(const config::Settings& settings,
                                                              const std::function<bool()>& unwanted);

  /// Makes a device context from parts that exist.
  static device::Result<std::unique_ptr<DeviceContext>> assemble(Parts parts, const config::Settings& settings);

  /// Opens the library that the operation needs, and loads its kernels by running it on device memory. Loads kernels
  /// only for operations that cannot fail, have no host vectors and no shape (as transforms have), and whose operands
  /// take at most 1 GiB, if the device has memory for them.
  void make_ready(const operation::Operation& operation);

  /// True if the device has not heard of the routine before.
  bool is_first(operation::RoutineId routine);

  /// Sets the model of the device and its link. The model must outlive this.
  void use(const decide::MachineModel& model) { model_.store(&model, std::memory_order_release); }
  const decide::MachineModel& model() const { return *model_.load(std::memory_order_acquire); }

  device::QueuePool& queue_pool() { return *queue_pool_; }

  device::Device& device() { return *device_; }
  residency::Staging& staging() { return *staging_; }
  /// The ledger of the mirrors, here and at the other devices of the process; nullptr: there are none.
  const std::shared_ptr<ledger::Ledger>& ledger() const { return ledger_; }
  /// The page locks of the same devices; nullptr: there are none.
  residency::mirror::Pins* pins() const { return pins_.get(); }

  /// The policies to try for a call: the one that keeps operands, if there is one, and the one that copies.
  const std::vector<residency::Policy*>& policies() const { return order_; }

  /// For gathered calls; nullptr: they are copied.
  SegmentPolicy* segments() const { return segments_.get(); }

  /// Bytes of device memory that all calls together may take for operands that do not stay there.
  std::size_t room_for_copies() const { return device_->accountant().limit_of(device::MemoryClient::copies); }

  /// False once the device is lost; then it must not be used again.
  bool working() const { return working_.load(std::memory_order_acquire); }

  /// The work of calls that are on their way to the device or running there, in floating-point operations.
  double flops_in_flight() const { return in_flight_.load(std::memory_order_relaxed); }
  bool idle() const { return calls_in_flight_.load(std::memory_order_relaxed) == 0; }
  void begin_call(double flops) {
    calls_in_flight_.fetch_add(1, std::memory_order_relaxed);
    in_flight_.fetch_add(flops, std::memory_order_relaxed);
  }
  void end_call(double flops) {
    in_flight_.fetch_sub(flops, std::memory_order_relaxed);
    calls_in_flight_.fetch_sub(1, std::memory_order_relaxed);
  }

  /// Bytes of device memory that matrices may occupy.
  std::size_t budget() const { return budget_; }

  /// Counts a call, or a part of a call, that has run on this device.
  void count(const report::Record& record, double flops, double seconds);
  void count_part(const report::Record& record, double flops, double seconds);

  /// Some operations, on this queue, demand that none of the program's memory is page-locked
  /// (Queue::copies_heap_memory). For these, the result keeps it so while it lives. To be called before a policy's
  /// begin(). Waits for calls in flight. An error means that the device does not run this operation now.
  device::Result<std::optional<residency::mirror::WithoutPins>> without_pins(device::Queue& queue,
                                                                             const operation::Operation& operation);

  /// Ends all page locks on the program's memory, since the program starts to use the device's driver itself. Returns
  /// false if some of them end only with calls in flight.
  bool release_pins();
  /// What only the device has comes home, and no other result stays there.
  void bring_results_home();
  /// The process is about to fork: a child must find all results in its memory.
  void before_fork();
  void after_fork_in_parent();

  /// Gives back device memory of operands that no call in flight uses.
  void release_operands();

  /// Stops the work that is done between calls. For process exit, when no call is in flight any more.
  void stop();

  /// The same for good: memory is not watched any more. No call may follow.
  void end();

  /// Marks the device as lost; the first caller's reason is logged and kept.
  void lost(const std::string& reason);

  /// Prints why a call went to the CPU, once for each reason.
  void say_once(const std::string& reason);

  /// Counts a call whose operands the first policy could not hold.
  void count_copied(const std::string& reason);

  /// Fills the device, policy and tracker fields.
  void describe(report::Context& context);

  /// What the device is and did.
  report::DeviceUse use();

 private:
  DeviceContext();
  void count_work(const report::Record& record, double flops, double seconds);
  device::Status open_residency(const config::Settings& settings);
  device::Status open_staging(const config::Settings& settings, std::size_t device_memory);
  void choose_policy(const config::Settings& settings);
  tl::expected<void, std::string> open_mirrors(const config::Settings& settings);
  void open_in_place(int node);

  std::unique_ptr<device::Device> device_;
  std::optional<residency::FirstUseSettings> mirrors_;
  std::shared_ptr<residency::mirror::Pins> pins_;
  std::shared_ptr<device::DirectCopies> direct_copies_;
  std::shared_ptr<std::atomic<int>> devices_working_;
  int devices_ = 1;
  std::unique_ptr<platform::WorkerPool> pool_;
  std::unique_ptr<residency::Staging> staging_;
  std::shared_ptr<ledger::Ledger> ledger_;
  std::unique_ptr<tracking::MemoryEvents> events_;  ///< about memory that has been moved
  Mechanism mechanism_ = Mechanism::copies;
  std::shared_ptr<device::MemoryPool> buffers_;   ///< of operands that do not stay; the policies share it
  std::unique_ptr<residency::Policy> preferred_;  ///< nullptr if every call is copied
  std::unique_ptr<SegmentPolicy> segments_;       ///< nullptr: no policy with mirrors
  std::unique_ptr<residency::Policy> copy_;
  std::vector<residency::Policy*> order_;
  std::unique_ptr<device::QueuePool> queue_pool_;
  std::size_t budget_ = 0;
  std::string asked_;           ///< the policy to which policy_reason_ refers
  std::string policy_reason_;   ///< why it is not the policy in force, or ""
  std::string results_reason_;  ///< why_results_go_home()

  std::atomic<const decide::MachineModel*> model_;
  std::atomic<bool> working_{true};
  std::atomic<int> calls_in_flight_{0};
  std::atomic<double> in_flight_{0};  ///< work of these calls; rounded
  std::mutex mutex_;
  report::DeviceUse use_;  ///< only the fields that count calls are kept up to date
  std::string lost_reason_;
  std::vector<std::string> said_;
  std::bitset<operation::max_routines> heard_of_;
  std::vector<std::pair<std::string, std::uint64_t>> copied_;
};

}  // namespace blastoff::runtime
