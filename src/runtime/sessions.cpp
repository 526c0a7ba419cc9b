#include "runtime/sessions.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "platform/contained.h"
#include "platform/descriptor.h"
#include "platform/log.h"
#include "platform/memory_limits.h"
#include "platform/threads.h"
#include "runtime/operands_key.h"
#include "runtime/transfer_cost.h"

namespace blastoff::runtime {

namespace {

using device::Error;
using device::Result;

// Rates of a GPU on PCIe. They weigh missing bytes against waiting work, so only their ratio matters much.
constexpr double link_bytes_per_second = 25e9;
constexpr double operations_per_second = 2e13;

double seconds_on(Session& session, const operation::Operation& operation,
                  const std::optional<operation::Estimate>& estimate) {
  return bytes_to_bring(session, operation, estimate) / link_bytes_per_second +
         (session.flops_in_flight() + operation.work.flops) / operations_per_second;
}

std::shared_ptr<ledger::Ledger> open_ledger(const config::Settings& settings) {
  if (settings.tracker == config::TrackerName::none) return nullptr;
  auto tracker = tracking::open_page_tracker(tracker_kind(settings.tracker));
  if (!tracker) return nullptr;  // each session says why
  return std::make_shared<ledger::Ledger>(std::move(*tracker), ledger::Ledger::Places::several);
}

Result<std::unique_ptr<Session>> open_one(const config::Settings& settings, const std::string& name, Parts parts) {
  auto device = open_device(settings, name);
  if (!device) return tl::unexpected(device.error());
  parts.device = std::move(*device);
  return Session::assemble(std::move(parts), settings);
}

/// Whether every device holds mirrors, and reaches all others directly, as far as the devices say.
bool copy_from_each_other(std::span<Session* const> sessions) {
  return std::ranges::all_of(sessions, [&](Session* to) {
    return to->policies().size() > 1 && std::ranges::all_of(sessions, [&](Session* from) {
             return from == to || to->device().copies_from(from->device());
           });
  });
}

}  // namespace

Result<std::unique_ptr<Sessions>> Sessions::start(const config::Settings& settings,
                                                  const std::function<bool()>& unwanted) {
  if (auto enough = check_address_space(settings); !enough) return tl::unexpected(enough.error());
  if (unwanted()) return process_was_ending();
  // Runs while the devices are opened; the tracker of pages will need the room.
  platform::start_thread("blastoff-room", platform::make_room_out_of_the_way);
  const auto names = list_devices(settings);
  if (!names) return tl::unexpected(names.error());
  std::unique_ptr<Sessions> sessions(new Sessions(settings.split));
  if (names->size() == 1) {
    auto session = Session::start(settings, unwanted);
    if (!session) return tl::unexpected(session.error());
    sessions->all_.reserve(1);
    sessions->all_.push_back(session->release());
    return sessions;
  }
  const auto ledger = open_ledger(settings);
  const auto pins = residency::create_pins(platform::usable_memory() / 2);
  const bool exchanging = settings.exchange != config::ExchangeMode::never;
  const auto direct_copies = exchanging ? std::make_shared<device::DirectCopies>() : nullptr;
  const auto working = std::make_shared<std::atomic<int>>(0);
  Error error;
  sessions->all_.reserve(names->size());
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
      auto session = open_one(settings, name, std::move(parts));
      if (session) {
        sessions->all_.push_back(session->release());
        ++*working;
      } else {
        error = session.error();
        platform::log_line("%s: %s", name.c_str(), error.message.c_str());
      }
    }
  };
  const bool complete = platform::contained(open_all);
  if (!complete || given_up) return complete ? process_was_ending() : tl::unexpected(device::no_host_memory());
  if (sessions->all_.empty()) return tl::unexpected(error);
  if (exchanging && copy_from_each_other(sessions->all_)) sessions->split_policy_.let_exchange();
  return sessions;
}

// A busy device gives no estimate. Then the matrices are assumed to be on the device that used them last, and nowhere
// else.
Sessions::Place Sessions::cheapest(const operation::Operation& operation) const {
  const auto home = homes_.of(operands_key(operation));
  Place best;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    Session* const session = all_[i];
    if (!session->working()) continue;
    Place place{session, session->policies().front()->estimate(operation), 0};
    const bool assumed = !place.estimate && home == i;
    place.seconds = seconds_on(*session, operation, assumed ? operation::Estimate{} : place.estimate);
    if (!best.session || place.seconds < best.seconds) best = place;
  }
  return best;
}

std::vector<Session*> Sessions::working_ones() const {
  std::vector<Session*> result;
  std::ranges::copy_if(all_, std::back_inserter(result), &Session::working);
  return result;
}

Placement Sessions::take(const operation::Operation& operation) {
  if (all_.size() == 1) return {all_.front(), {}};
  const std::lock_guard lock(mutex_);
  Placement placement{cheapest(operation).session, {}};
  if (!placement.session) return placement;
  placement.parts = split_policy_.parts(operation, working_ones(), *placement.session);
  for (const Part& part : placement.parts) part.session->begin_call(part.flops());
  if (!placement.parts.empty()) return placement;
  placement.session->begin_call(operation.work.flops);
  const auto index = std::ranges::find(all_, placement.session) - all_.begin();
  homes_.set(operands_key(operation), static_cast<std::size_t>(index));
  return placement;
}

void Sessions::give_back(const Placement& placement, const operation::Operation& operation) {
  if (all_.size() == 1) return;
  for (const Part& part : placement.parts) part.session->end_call(part.flops());
  if (placement.parts.empty()) placement.session->end_call(operation.work.flops);
}

void Sessions::unsplit(Placement& placement, const operation::Operation& operation) {
  for (const Part& part : placement.parts) part.session->end_call(part.flops());
  placement.parts.clear();
  placement.session->begin_call(operation.work.flops);
}

// Not std::call_once: an exception must not pass through frames of the C library.
platform::WorkerPool& Sessions::team() {
  const std::lock_guard lock(team_mutex_);
  if (!team_) team_ = platform::create_worker_pool(static_cast<int>(all_.size()) - 1, "blastoff-part");
  return *team_;
}

std::optional<operation::Estimate> Sessions::estimate(const operation::Operation& operation) {
  if (all_.size() == 1) return all_.front()->policies().front()->estimate(operation);
  const Place place = cheapest(operation);
  if (!place.session) return std::nullopt;
  const auto of_parts = split_policy_.estimate(operation, working_ones(), *place.session);
  return of_parts ? of_parts : place.estimate;
}

bool Sessions::working() const {
  return std::ranges::any_of(all_, &Session::working);
}

void Sessions::leave_to_cpu(const operation::Operation& call) {
  for (Session* const session : all_) session->policies().front()->leave_to_cpu(call);
}

bool Sessions::release_pins() {
  bool ended = true;
  for (Session* const session : all_) ended = session->release_pins() && ended;
  return ended;
}

void Sessions::expect_used_once(std::span<const std::uint64_t> kinds) {
  for (Session* const session : all_)
    for (residency::Policy* const policy : session->policies()) policy->expect_used_once(kinds);
}

void Sessions::release_operands() {
  for (Session* const session : all_)
    if (session->working()) session->release_operands();
}

void Sessions::stop() {
  for (Session* const session : all_) session->stop();
}

void Sessions::use(const decide::MachineModel& model) {
  split_policy_.use(model);
  for (Session* const session : all_) session->use(model);
}

void Sessions::make_ready(const operation::Operation& operation) {
  for (Session* const session : all_)
    if (session->working()) session->make_ready(operation);
}

void Sessions::describe(report::Context& context) {
  front().describe(context);
  if (all_.size() == 1) return;
  if (working()) context.device_state = "working";
  for (Session* const session : all_) {
    context.devices.push_back(session->use());
    if (session == all_.front()) continue;
    report::Context other;
    session->describe(other);
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
