#include "runtime/device_set.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "platform/contained.h"
#include "platform/descriptor.h"
#include "platform/log.h"
#include "platform/memory_limits.h"
#include "platform/threads.h"
#include "runtime/device_choice.h"
#include "runtime/operands_key.h"
#include "runtime/transfer_cost.h"

namespace blastoff::runtime {

namespace {

using device::Error;
using device::Result;

/// Only the operations of waiting work are known. They count as those of products.
double seconds_of_work(const decide::MachineModel& model, double flops) {
  const double known = model.device_rates.rate({decide::Family::gemm, decide::Precision::d}, flops);
  return flops / (known > 0 ? known : model.device_flops);
}

double seconds_on(DeviceContext& context, const operation::Operation& operation,
                  const std::optional<operation::Estimate>& estimate) {
  const decide::MachineModel& model = context.model();
  return bytes_to_bring(context, operation, estimate) / model.to_device +
         seconds_of_work(model, context.flops_in_flight() + operation.work.flops);
}

Result<std::unique_ptr<DeviceContext>> open_one(const config::Settings& settings, const std::string& name,
                                                Parts parts) {
  auto device = open_device(settings, name);
  if (!device) return tl::unexpected(device.error());
  parts.device = std::move(*device);
  return DeviceContext::assemble(std::move(parts), settings);
}

/// Whether every device holds mirrors, and reaches all others directly, as far as the devices say.
bool copy_from_each_other(std::span<DeviceContext* const> devices) {
  return std::ranges::all_of(devices, [&](DeviceContext* to) {
    return to->policies().size() > 1 && std::ranges::all_of(devices, [&](DeviceContext* from) {
             return from == to || to->device().copies_from(from->device());
           });
  });
}

}  // namespace

Result<std::unique_ptr<DeviceSet>> DeviceSet::start(const config::Settings& settings,
                                                    const std::function<bool()>& unwanted) {
  if (auto enough = check_address_space(settings); !enough) return tl::unexpected(enough.error());
  if (unwanted()) return process_was_ending();
  // Runs while the devices are opened; the tracker of pages will need the room.
  platform::start_thread("blastoff-room", platform::make_room_out_of_the_way);
  const auto names = list_devices(settings);
  if (!names) return tl::unexpected(names.error());
  std::unique_ptr<DeviceSet> devices(new DeviceSet(settings.split));
  if (names->size() == 1) {
    auto context = DeviceContext::start(settings, unwanted);
    if (!context) return tl::unexpected(context.error());
    devices->all_.reserve(1);
    devices->all_.push_back(context->release());
    return devices;
  }
  std::shared_ptr<ledger::Ledger> ledger;  // without one, each device context says why
  if (settings.tracker != config::TrackerName::none)
    ledger = open_ledger(settings, ledger::Ledger::Places::several, may_stay(settings)).value_or(nullptr);
  const auto pins = residency::create_pins(platform::usable_memory() / 2);
  const bool exchanging = settings.exchange != config::ExchangeMode::never;
  const auto direct_copies = exchanging ? std::make_shared<device::DirectCopies>() : nullptr;
  const auto working = std::make_shared<std::atomic<int>>(0);
  Error error;
  devices->all_.reserve(names->size());
  bool given_up = false;
  const auto open_all = [&] {
    for (const std::string& name : *names) {
      given_up = unwanted();
      if (given_up) return;
      Parts parts;
      parts.ledger = ledger;
      parts.pins = pins;
      parts.direct_copies = direct_copies;
      parts.working = working;
      parts.devices = static_cast<int>(names->size());
      auto context = open_one(settings, name, std::move(parts));
      if (context) {
        devices->all_.push_back(context->release());
        ++*working;
      } else {
        error = context.error();
        platform::log_line("%s: %s", name.c_str(), error.message.c_str());
      }
    }
  };
  const bool complete = platform::contained(open_all);
  if (!complete || given_up) return complete ? process_was_ending() : tl::unexpected(device::no_host_memory());
  if (devices->all_.empty()) return tl::unexpected(error);
  if (exchanging && copy_from_each_other(devices->all_)) devices->split_policy_.let_exchange();
  return devices;
}

// A busy device gives no estimate. Then the matrices are assumed to be on the device that used them last, and nowhere
// else.
DeviceSet::Place DeviceSet::cheapest(const operation::Operation& operation) const {
  const auto latest = latest_devices_.of(operands_key(operation));
  Place best;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    DeviceContext* const context = all_[i];
    if (!context->working()) continue;
    Place place{context, context->policies().front()->estimate(operation), 0};
    const bool assumed = !place.estimate && latest == i;
    place.seconds = seconds_on(*context, operation, assumed ? operation::Estimate{} : place.estimate);
    if (!best.context || place.seconds < best.seconds) best = place;
  }
  return best;
}

std::vector<DeviceContext*> DeviceSet::working_ones() const {
  std::vector<DeviceContext*> result;
  std::ranges::copy_if(all_, std::back_inserter(result), &DeviceContext::working);
  return result;
}

Placement DeviceSet::take(const operation::Operation& operation) {
  if (all_.size() == 1) return {all_.front(), {}};
  const std::lock_guard lock(mutex_);
  Placement placement{cheapest(operation).context, {}};
  if (!placement.context) return placement;
  placement.parts = split_policy_.parts(operation, working_ones(), *placement.context);
  for (const Part& part : placement.parts) part.context->begin_call(part.flops());
  if (!placement.parts.empty()) return placement;
  placement.context->begin_call(operation.work.flops);
  const auto index = std::ranges::find(all_, placement.context) - all_.begin();
  latest_devices_.set(operands_key(operation), static_cast<std::size_t>(index));
  return placement;
}

void DeviceSet::give_back(const Placement& placement, const operation::Operation& operation) {
  if (all_.size() == 1) return;
  for (const Part& part : placement.parts) part.context->end_call(part.flops());
  if (placement.parts.empty()) placement.context->end_call(operation.work.flops);
}

void DeviceSet::unsplit(Placement& placement, const operation::Operation& operation) {
  for (const Part& part : placement.parts) part.context->end_call(part.flops());
  placement.parts.clear();
  placement.context->begin_call(operation.work.flops);
}

// Not std::call_once: an exception must not pass through frames of the C library.
platform::WorkerPool& DeviceSet::team() {
  const std::lock_guard lock(team_mutex_);
  if (!team_) team_ = platform::create_worker_pool(static_cast<int>(all_.size()) - 1, "blastoff-part");
  return *team_;
}

std::optional<operation::Estimate> DeviceSet::estimate(const operation::Operation& operation) {
  if (all_.size() == 1) return all_.front()->policies().front()->estimate(operation);
  const Place place = cheapest(operation);
  if (!place.context) return std::nullopt;
  const auto of_parts = split_policy_.estimate(operation, working_ones(), *place.context);
  return of_parts ? of_parts : place.estimate;
}

bool DeviceSet::working() const {
  return std::ranges::any_of(all_, &DeviceContext::working);
}

void DeviceSet::leave_to_cpu(const operation::Operation& call) {
  for (DeviceContext* const context : all_) context->policies().front()->leave_to_cpu(call);
}

void DeviceSet::bring_results_home() {
  for (DeviceContext* const context : all_) context->bring_results_home();
}

void DeviceSet::before_fork() {
  for (DeviceContext* const context : all_) context->before_fork();
}

void DeviceSet::after_fork_in_parent() {
  for (DeviceContext* const context : all_) context->after_fork_in_parent();
}

bool DeviceSet::release_pins() {
  bool ended = true;
  for (DeviceContext* const context : all_) ended = context->release_pins() && ended;
  return ended;
}

void DeviceSet::expect_used_once(std::span<const std::uint64_t> kinds) {
  for (DeviceContext* const context : all_)
    for (residency::Policy* const policy : context->policies()) policy->expect_used_once(kinds);
}

void DeviceSet::release_operands() {
  for (DeviceContext* const context : all_)
    if (context->working()) context->release_operands();
}

void DeviceSet::stop() {
  for (DeviceContext* const context : all_) context->stop();
}

void DeviceSet::end() {
  for (DeviceContext* const context : all_) context->end();
  const std::lock_guard lock(team_mutex_);
  if (team_) team_->end();
}

void DeviceSet::use(const decide::MachineModel& model) {
  split_policy_.use(model);
  for (DeviceContext* const context : all_) context->use(model);
}

void DeviceSet::make_ready(const operation::Operation& operation) {
  for (DeviceContext* const context : all_)
    if (context->working()) context->make_ready(operation);
}

void DeviceSet::describe(report::Context& context) {
  front().describe(context);
  if (all_.size() == 1) return;
  if (working()) context.device.state = "working";
  for (DeviceContext* const one : all_) {
    context.devices.push_back(one->use());
    if (one == all_.front()) continue;
    report::Context other;
    one->describe(other);
    for (std::size_t i = 0; i < context.held_memory.size(); ++i) {
      context.held_memory[i].bytes += other.held_memory[i].bytes;
      context.held_memory[i].bytes_peak += other.held_memory[i].bytes_peak;
    }
    for (const auto& [reason, calls] : other.copied_operands) {
      const auto known =
          std::ranges::find(context.copied_operands, reason, &std::pair<std::string, std::uint64_t>::first);
      if (known != context.copied_operands.end())
        known->second += calls;
      else
        context.copied_operands.emplace_back(reason, calls);
    }
  }
}

}  // namespace blastoff::runtime
