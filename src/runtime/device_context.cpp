#include "runtime/device_context.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/contained.h"
#include "platform/failure.h"
#include "platform/log.h"
#include "platform/memory_limits.h"
#include "platform/numa.h"
#include "platform/threads.h"
#include "report/counter_file.h"
#include "report/said.h"
#include "residency/copy_policy.h"
#include "residency/first_use_policy.h"
#include "residency/in_place_policy.h"
#include "runtime/device_choice.h"

namespace blastoff::runtime {

namespace {

// More threads than this were not faster on any node that was measured.
constexpr int max_copy_threads = 12;

// If address space is limited, the copying threads together may take this fraction of it, and staging the same again.
constexpr std::size_t share_of_address_space = 16;

int copy_workers(const config::Settings& settings, std::size_t address_space, int devices) {
  // A stack, and the arena that malloc reserves for each thread.
  constexpr std::size_t thread_bytes = std::size_t{72} << 20;
  const int threads = settings.copy_threads > 0 ? static_cast<int>(settings.copy_threads)
                                                : std::min(platform::cpu_share(), max_copy_threads);
  const int workers = std::max(1, std::min(threads, platform::cpu_count()) / devices) - 1;  // the caller copies too
  return static_cast<int>(
      std::min(static_cast<std::size_t>(workers), address_space / share_of_address_space / thread_bytes));
}

/// Calls that use the device at the same time. A few for each CPU hide each other's waiting; more would only occupy
/// queues and memory.
std::size_t max_queues() {
  return static_cast<std::size_t>(std::max(4, 2 * platform::cpu_count()));
}

std::size_t resolve(const config::MemorySize& size, std::size_t of) {
  return size.percent > 0 ? static_cast<std::size_t>(static_cast<double>(of) * size.percent / 100) : size.bytes;
}

/// Bytes of the device's memory for matrices. A share of the free memory is limited to this process's part of the
/// whole, since other ranks that share the device may not have taken their parts yet.
std::size_t own_share(const config::MemorySize& size, const device::MemoryInfo& memory, int sharers) {
  const std::size_t share = std::min(resolve(size, memory.free), memory.free);
  return size.percent > 0 ? std::min(share, resolve(size, memory.total) / static_cast<std::size_t>(sharers)) : share;
}

struct StagingSize {
  std::size_t slot_bytes;
  std::size_t slots;
};

// Every copying thread can fill one slot while others are in transfer. A small device gets small slots.
StagingSize staging_size(int workers, std::size_t device_memory, std::size_t address_space) {
  const auto slots = static_cast<std::size_t>(std::max(8, 3 * (workers + 1)));
  const bool small =
      device_memory < (std::size_t{8} << 30) || address_space / share_of_address_space < slots * (std::size_t{4} << 20);
  return {small ? std::size_t{1} << 20 : std::size_t{4} << 20, slots};
}

/// The host for devices that compute by themselves.
class NoHost final : public operation::Host {
 public:
  bool can_compute(const operation::Operation&) const override { return false; }
  bool compute(const operation::Operation&) const override { return false; }
};

residency::Results results_of(config::ResultsMode mode) {
  switch (mode) {
    case config::ResultsMode::automatic: return residency::Results::automatic;
    case config::ResultsMode::stay: return residency::Results::stay;
    case config::ResultsMode::home: break;
  }
  return residency::Results::home;
}

}  // namespace

tl::unexpected<Error> process_was_ending() {
  return tl::unexpected(Error{ErrorKind::unavailable, "the process was ending"});
}

Result<std::unique_ptr<DeviceContext>> DeviceContext::start(const config::Settings& settings,
                                                            const std::function<bool()>& unwanted) {
  if (auto enough = check_address_space(settings); !enough) return tl::unexpected(enough.error());
  if (unwanted()) return process_was_ending();
  auto device = open_device(settings);
  if (!device) return tl::unexpected(device.error());
  if (unwanted()) return process_was_ending();

  Parts parts;
  parts.device = std::move(*device);
  return assemble(std::move(parts), settings);
}

Result<std::unique_ptr<DeviceContext>> DeviceContext::assemble(Parts parts, const config::Settings& settings) {
  std::unique_ptr<DeviceContext> context(new DeviceContext);
  context->device_ = std::move(parts.device);
  context->device_->accountant().show_in(report::memory_gauge());
  context->staging_ = std::move(parts.staging);
  context->ledger_ = std::move(parts.ledger);
  context->mirrors_ = std::move(parts.mirrors);
  context->pins_ = std::move(parts.pins);
  context->direct_copies_ = std::move(parts.direct_copies);
  context->devices_working_ = std::move(parts.working);
  context->devices_ = parts.devices;
  context->queue_pool_ = std::make_unique<device::QueuePool>(*context->device_, max_queues());
  if (auto opened = context->open_residency(settings); !opened) return tl::unexpected(opened.error());
  return context;
}

Status DeviceContext::open_residency(const config::Settings& settings) {
  auto memory = device_->memory_info();
  if (!memory) return tl::unexpected(memory.error());
  budget_ = own_share(settings.device_memory, *memory, device_->properties().sharers);

  if (auto opened = open_staging(settings, memory->total); !opened) return opened;
  buffers_ = residency::create_buffers(*device_);
  choose_policy(settings);
  if (preferred_) order_.push_back(preferred_.get());
  // Memory that mirrors do not use serves calls that cannot use mirrors.
  const std::size_t unused = (memory->free - budget_) / 2 + memory->free / 20;
  const std::size_t for_copies = mechanism_ == Mechanism::mirrors ? std::min(unused, budget_) : budget_;
  device_->accountant().limit(device::MemoryClient::copies, for_copies);
  copy_ = residency::create_copy_policy(*device_, *staging_, buffers_);
  order_.push_back(copy_.get());
  return {};
}

Status DeviceContext::open_staging(const config::Settings& settings, std::size_t device_memory) {
  const std::size_t address_space = platform::address_space_left();
  pool_ = platform::create_worker_pool(staging_ ? 0 : copy_workers(settings, address_space, devices_));
  if (staging_) return {};
  const StagingSize size = staging_size(pool_->workers(), device_memory, address_space);
  auto staging = residency::create_staging(*device_, *pool_, size.slot_bytes, size.slots);
  if (!staging) return tl::unexpected(staging.error());
  staging_ = std::move(*staging);
  return {};
}

void DeviceContext::choose_policy(const config::Settings& settings) {
  const int node = device_->properties().memory_node;
  const auto found = node < 0 ? std::nullopt : platform::numa_node(node);
  MechanismChoice choice = choose_mechanism(settings, device_->properties(), found && found->allowed);
  mechanism_ = choice.mechanism;
  if (mechanism_ == Mechanism::mirrors) {
    if (auto opened = open_mirrors(settings); !opened) {
      mechanism_ = without_mirrors(settings, device_->properties());
      choice.reason = choice.reason.empty() ? opened.error() : platform::both_reasons(choice.reason, opened.error());
    }
  }
  if (mechanism_ != Mechanism::mirrors && mechanism_ != Mechanism::copies) open_in_place(node);
  results_reason_ = why_results_go_home(settings, mechanism_ == Mechanism::mirrors ? ledger_.get() : nullptr);
  if (!results_reason_.empty()) report::tell_run("results go home though they were to stay: " + results_reason_);
  policy_reason_ = choice.reason;
  if (policy_reason_.empty()) return;
  asked_ = describe_request(settings);
  report::tell_run(
      fmt::format("policy {} instead of {}: {}", preferred_ ? preferred_->name() : "copy", asked_, policy_reason_));
}

tl::expected<void, std::string> DeviceContext::open_mirrors(const config::Settings& settings) {
  if (settings.tracker == config::TrackerName::none)
    return tl::unexpected(std::string("page tracking is switched off"));
  if (!device_->properties().can_reserve)
    return tl::unexpected(std::string("the device has no virtual memory management"));
  if (!ledger_) {
    auto ledger = open_ledger(settings, ledger::Ledger::Places::one, may_stay(settings));
    if (!ledger) return tl::unexpected(ledger.error());
    ledger_ = std::move(*ledger);
  }
  device_->accountant().limit(device::MemoryClient::mirrors, budget_);
  residency::FirstUseSettings first_use = mirrors_.value_or(residency::FirstUseSettings{});
  if (!mirrors_) first_use.pins = pins_ ? pins_ : residency::create_pins(platform::usable_memory() / 2);
  pins_ = first_use.pins;
  first_use.direct_copies = direct_copies_;
  first_use.buffers = buffers_;
  if (settings.exchange == config::ExchangeMode::always) first_use.min_borrowed = 1;
  first_use.results = results_of(config::results_mode(settings));
  first_use.verify =
      settings.verify.mode == config::VerifyMode::report || settings.verify.mode == config::VerifyMode::abort;
  preferred_ = residency::create_first_use_policy(*device_, *staging_, *ledger_, first_use);
  segments_ = std::make_unique<SegmentPolicy>(*device_, *staging_, first_use);
  return {};
}

void DeviceContext::open_in_place(int node) {
  residency::InPlaceSettings in_place;
  in_place.node = node;
  if (mechanism_ == Mechanism::prefetch) in_place.before = residency::Before::prefetch;
  if (mechanism_ == Mechanism::moves) {
    in_place.before = residency::Before::move;
    // Without events, the kernel is asked now and then whether memory has been moved, which is slower but as correct.
    if (auto events = tracking::open_memory_events()) events_ = std::move(*events);
  }
  preferred_ = residency::create_in_place_policy(*pool_, events_.get(), in_place);
}

DeviceContext::DeviceContext() {
  static const decide::MachineModel of_no_machine;
  use(of_no_machine);
}

void DeviceContext::release_operands() {
  for (residency::Policy* policy : order_) policy->release_operands();
  if (segments_) segments_->release_operands();
}

void DeviceContext::bring_results_home() {
  if (ledger_ && working()) ledger_->bring_results_home();  // whoever touches what is lost learns it
}

void DeviceContext::before_fork() {
  if (ledger_) ledger_->before_fork();
}

void DeviceContext::after_fork_in_parent() {
  if (ledger_) ledger_->after_fork_in_parent();
}

void DeviceContext::stop() {
  for (residency::Policy* policy : order_) policy->stop();
  if (segments_) segments_->stop();
}

void DeviceContext::end() {
  stop();
  if (ledger_) ledger_->end();
  pool_->end();
}

void DeviceContext::make_ready(const operation::Operation& operation) {
  if (!device_->prepare(operation)) return;
  constexpr std::size_t max_bytes = std::size_t{1} << 30;
  std::size_t bytes = 0;
  for (const operation::Operand& operand : operation.operands()) bytes += operand.span_bytes();
  if (operation.may_fail || operation.shape != 0 || !operation.vectors().empty() || bytes > max_bytes) return;
  auto queues = queue_pool_->acquire();
  if (!queues) return;
  operation::Operation trial = operation;
  std::vector<device::Address> buffers;
  for (operation::Operand& operand : trial.operands()) {
    if (operand.empty()) continue;
    auto buffer = device_->allocate(device::MemoryClient::workspaces, operand.span_bytes());
    if (!buffer) break;
    buffers.push_back(*buffer);
    operand.address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(*buffer));
  }
  if (buffers.size() == static_cast<std::size_t>(std::ranges::count_if(
                            operation.operands(), [](const auto& operand) { return !operand.empty(); }))) {
    if (const auto without = without_pins(*(*queues)->compute, trial)) {
      (void)(*queues)->compute->execute(trial, NoHost());
      (void)(*queues)->compute->synchronize();
    }
  }
  for (const device::Address buffer : buffers) device_->free(buffer);
}

device::Result<std::optional<residency::mirror::WithoutPins>> DeviceContext::without_pins(
    device::Queue& queue, const operation::Operation& operation) {
  if (!pins_ || !queue.copies_heap_memory(operation)) return std::nullopt;
  auto without = residency::mirror::WithoutPins::begin(pins_);
  if (without) return without;
  return tl::unexpected(
      device::Error{device::ErrorKind::unsupported, "page-locked memory of calls in flight is in the way"});
}

// The program uses the driver, too, from now on.
bool DeviceContext::release_pins() {
  bring_results_home();
  bool ended = true;
  for (residency::Policy* policy : order_) ended = policy->release_pins() && ended;
  return (!segments_ || segments_->release_pins()) && ended;
}

void DeviceContext::lost(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!working_.exchange(false, std::memory_order_acq_rel)) return;
  platform::contained([&] { lost_reason_ = reason; });
  const bool alone = !devices_working_ || devices_working_->fetch_sub(1) == 1;
  platform::log_line("%s; all later calls run on the %s", reason.c_str(), alone ? "CPU" : "other devices");
}

bool DeviceContext::is_first(operation::RoutineId routine) {
  const std::lock_guard lock(mutex_);
  if (heard_of_[routine]) return false;
  heard_of_.set(routine);
  return true;
}

void DeviceContext::say_once(const std::string& reason) {
  constexpr std::size_t max_lines = 16;
  const std::lock_guard lock(mutex_);
  if (said_.size() == max_lines || std::find(said_.begin(), said_.end(), reason) != said_.end()) return;
  said_.push_back(reason);
  report::tell_run(reason + "; such calls run on the CPU");
}

void DeviceContext::count_copied(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  constexpr std::size_t max_reasons = 16;
  const auto known = std::find_if(copied_.begin(), copied_.end(), [&](const auto& c) { return c.first == reason; });
  if (known != copied_.end())
    ++known->second;
  else if (copied_.size() < max_reasons)
    copied_.emplace_back(reason, 1);
}

void DeviceContext::count(const report::Record& record, double flops, double seconds) {
  const std::lock_guard lock(mutex_);
  ++use_.calls;
  count_work(record, flops, seconds);
}

void DeviceContext::count_part(const report::Record& record, double flops, double seconds) {
  const std::lock_guard lock(mutex_);
  ++use_.parts;
  count_work(record, flops, seconds);
}

/// Requires the lock.
void DeviceContext::count_work(const report::Record& record, double flops, double seconds) {
  use_.flops += flops;
  use_.seconds += seconds;
  use_.traffic += record.traffic;
}

report::DeviceUse DeviceContext::use() {
  const device::Properties& properties = device_->properties();
  const std::lock_guard lock(mutex_);
  report::DeviceUse use = use_;
  use.name = properties.name;
  use.index = properties.index;
  use.bus = properties.bus;
  use.state = working() ? "working" : lost_reason_;
  use.memory = properties.total_memory;
  use.memory_budget = budget_;
  use.memory_peak = device_->accountant().held(device::MemoryClient::mirrors).most;
  return use;
}

void DeviceContext::describe(report::Context& context) {
  const device::Properties& properties = device_->properties();
  context.device = use();
  const std::lock_guard lock(mutex_);
  context.device_used = true;
  context.device_kind = properties.kind;
  context.device_concurrent = properties.concurrent;
  context.device_software = device_->software();
  for (const device::MemoryClient client : device::memory_clients) {
    const device::MemoryHeld held = device_->accountant().held(client);
    context.held_memory.push_back({to_string(client), held.now, held.most});
  }
  context.policy = order_.front()->name();
  context.results = platform::fate_of(report::results_gauge());
  context.policy_asked = asked_;
  context.policy_reason = policy_reason_;
  context.results_reason = results_reason_;
  context.mechanism = to_string(mechanism_);
  context.tracker = ledger_ && mechanism_ == Mechanism::mirrors ? ledger_->tracker().name()
                    : events_                                   ? events_->name()
                                                                : "none";
  context.memory_node = properties.memory_node;
  if (const auto migration = order_.front()->migration()) {
    context.pages_moved = true;
    context.placed_bytes = migration->moved + migration->there;
    context.moved_bytes = migration->moved;
    context.left_bytes = migration->left_because;
    context.moving_seconds = migration->seconds;
  }
  context.copied_operands = copied_;
}

}  // namespace blastoff::runtime
