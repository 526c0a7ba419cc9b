// What the settings say of devices: which ones to open, and the tracker and the ledger of what they hold.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/settings.h"
#include "device/device.h"
#include "ledger/ledger.h"
#include "tracking/page_tracker.h"

namespace blastoff::runtime {

using device::Error, device::ErrorKind, device::Result, device::Status;

/// Names of the devices that the settings name, as open_device() takes them; at least one.
Result<std::vector<std::string>> list_devices(const config::Settings& settings);

/// Opens the device `name`.
Result<std::unique_ptr<device::Device>> open_device(const config::Settings& settings, const std::string& name);

/// Opens the first device that the settings name.
Result<std::unique_ptr<device::Device>> open_device(const config::Settings& settings);

/// An error if too little address space is left for the devices that the settings name.
Status check_address_space(const config::Settings& settings);

/// The tracker that the setting names.
tracking::TrackerKind tracker_kind(config::TrackerName name);

/// Whether results may stay on a device.
ledger::Ledger::Results may_stay(const config::Settings& settings);
/// Why results go home though the user asked that they stay; "" if they may, or if nobody asked. `ledger`: of mirrors;
/// nullptr: there are none.
std::string why_results_go_home(const config::Settings& settings, ledger::Ledger* ledger);

/// A ledger with the tracker that the settings name, which must not be none.
tl::expected<std::shared_ptr<ledger::Ledger>, std::string> open_ledger(const config::Settings& settings,
                                                                       ledger::Ledger::Places places,
                                                                       ledger::Ledger::Results results);

}  // namespace blastoff::runtime
