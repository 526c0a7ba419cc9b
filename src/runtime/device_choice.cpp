#include "runtime/device_choice.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "device/kinds.h"
#include "device/open.h"
#include "platform/malloc_arenas.h"
#include "platform/memory_limits.h"
#include "platform/process.h"
#include "platform/quantity.h"
#include "report/counter_file.h"
#include "runtime/description.h"
#include "tracking/process_status.h"

namespace blastoff::runtime {

namespace {

// Bytes of address space; if less is left, the device is not opened, for the program's sake.
std::size_t min_address_space(const std::string& device) {
  const auto named = device::find_kind(device);
  return named ? named->kind->min_address_space : 0;
}

device::HostAccess simulated_access(config::SimulatedForm form) {
  switch (form) {
    case config::SimulatedForm::separate: return device::HostAccess::none;
    case config::SimulatedForm::coherent: return device::HostAccess::coherent;
    case config::SimulatedForm::unified: return device::HostAccess::unified;
    case config::SimulatedForm::pageable: return device::HostAccess::pageable;
  }
  return device::HostAccess::none;
}

device::Choice choice_of(const config::Settings& settings) {
  device::Choice choice;
  choice.name = settings.device;
  choice.toolkit_path = settings.toolkit_path;
  choice.local_rank = platform::local_rank();
  choice.local_size = platform::local_size();
  choice.run_directory = report::run_directory();
  choice.memory_node = static_cast<int>(settings.device_node);
  choice.simulated_memory = settings.simulated_memory.bytes;
  choice.simulated_access = simulated_access(settings.simulated_form);
  choice.simulated_rates = settings.simulated_rates;
  choice.simulated_fault = settings.simulated_fault;
  choice.simulated_devices = static_cast<int>(settings.simulated_devices);
  choice.simulated_slack = settings.simulated_slack == config::SimulatedSlack::on;
  return choice;
}

}  // namespace

Result<std::vector<std::string>> list_devices(const config::Settings& settings) {
  return device::list(choice_of(settings));
}

Result<std::unique_ptr<device::Device>> open_device(const config::Settings& settings, const std::string& name) {
  device::Choice choice = choice_of(settings);
  choice.name = name;
  return device::open(choice);
}

Result<std::unique_ptr<device::Device>> open_device(const config::Settings& settings) {
  const auto names = list_devices(settings);
  if (!names) return tl::unexpected(names.error());
  return open_device(settings, names->front());
}

Status check_address_space(const config::Settings& settings) {
  const std::size_t least = min_address_space(settings.device);
  const std::size_t left = platform::address_space_left();
  if (left >= least) return {};
  return tl::unexpected(
      Error{ErrorKind::unavailable,
            fmt::format("the process's memory is limited (ulimit -v or -d): {} are left, but the device needs {}",
                        platform::format_bytes(left), platform::format_bytes(least))});
}

namespace {

/// Who else would wait for the pager while the pager waits for it; "" if nobody does. A tracer does, since it also
/// traces the pager. An allocator does that keeps lists in memory that the program has freed: it touches that memory
/// under the lock for which the pager waits when it allocates. For glibc's allocator, we know which memory that is
/// (platform::in_malloc_arena()).
std::string who_would_wait() {
  if (tracking::is_traced()) return "the process is traced";
  const auto ours = describe_allocation();
  const std::string allocator = ours ? ours->owner : platform::other_allocator();
  return allocator.empty() ? "" : allocator + " allocates in this process";
}

}  // namespace

ledger::Ledger::Results may_stay(const config::Settings& settings) {
  return config::results_mode(settings) == config::ResultsMode::home || !who_would_wait().empty()
             ? ledger::Ledger::Results::go_home
             : ledger::Ledger::Results::may_stay;
}

std::string why_results_go_home(const config::Settings& settings, ledger::Ledger* ledger) {
  if (settings.results != config::ResultsMode::stay) return {};
  if (ledger == nullptr) return "they can stay in mirrors only (policy first-use)";
  if (std::string who = who_would_wait(); !who.empty()) return who;
  if (ledger->tracker().absent_pages() != nullptr) return {};
  if (std::string_view(ledger->tracker().name()) != "uffd") return "this takes userfaultfd and Linux 6.7 or newer";
  return "this user may not fill pages for the kernel's own accesses (blastoff doctor)";
}

tracking::TrackerKind tracker_kind(config::TrackerName name) {
  switch (name) {
    case config::TrackerName::uffd: return tracking::TrackerKind::uffd;
    case config::TrackerName::soft_dirty: return tracking::TrackerKind::soft_dirty;
    case config::TrackerName::automatic:
    case config::TrackerName::none: break;
  }
  return tracking::TrackerKind::best;
}

tl::expected<std::shared_ptr<ledger::Ledger>, std::string> open_ledger(const config::Settings& settings,
                                                                       ledger::Ledger::Places places,
                                                                       ledger::Ledger::Results results) {
  auto tracker = tracking::open_page_tracker(tracker_kind(settings.tracker));
  if (!tracker) return tl::unexpected(tracker.error());
  auto ledger = std::make_shared<ledger::Ledger>(std::move(*tracker), places, results);
  ledger->show_in(report::results_gauge());
  return ledger;
}

}  // namespace blastoff::runtime
