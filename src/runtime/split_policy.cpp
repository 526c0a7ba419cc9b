#include "runtime/split_policy.h"

#include <algorithm>

#include "residency/sharing.h"
#include "runtime/operands_key.h"
#include "runtime/transfer_cost.h"

namespace blastoff::runtime {

namespace {

// A smaller part is not worth a second device. Waking a thread takes 50 us, and two links and cards never run in step.
constexpr double min_seconds_of_part = 0.2e-3;
constexpr double seconds_to_hand_over = 100e-6;

// A split call must be expected to take less than this share of the time on one device, since rates are not known
// exactly.
constexpr double worth_it = 0.9;

// The host copies for all devices, so each further link adds only this share of its rate.
constexpr double share_of_further_links = 0.5;

// Bytes per second from one device to another over PCIe, the slowest case. Two H200 with NVLink do 394 GB/s.
constexpr double between_devices = 50e9;

const decide::MachineModel& assumed_model() {
  static const decide::MachineModel& model = *new decide::MachineModel;
  return model;
}

/// Seconds of operations that run one after the other on one device that has their operands. Results are copied back
/// while the rest is computed.
double seconds_there(std::span<const operation::Operation> operations, const decide::MachineModel& model) {
  double computing = 0;
  double home = 0;
  for (const operation::Operation& operation : operations) {
    computing += model.device_seconds_of(operation);
    operation.each_result([&](std::size_t, const operation::Operand& result) {
      home += static_cast<double>(result.part_bytes()) / model.from_device;
    });
  }
  return std::max(computing, home);
}

struct Need {
  double bytes = 0;
  operation::Estimate found;
};

Need need_of(const operation::Operation& operation, DeviceContext& context) {
  const auto found = context.policies().front()->estimate(operation);
  return {bytes_to_bring(context, operation, found),
          found.value_or(operation::Estimate{.missing = part_bytes(operation, operation::reads)})};
}

/// What the operations of a part need together. Matrices that they share count several times, but the sum is limited to
/// what the whole call needs on that device.
Need need_of(const Part& part, const operation::Operation& whole) {
  Need sum;
  for (const operation::Operation& operation : part.operations) {
    const Need need = need_of(operation, *part.context);
    sum.bytes += need.bytes;
    sum.found.resident += need.found.resident;
    sum.found.missing += need.found.missing;
    sum.found.dirty += need.found.dirty;
  }
  if (part.operations.size() == 1) return sum;
  const Need most = need_of(whole, *part.context);
  return sum.bytes > most.bytes ? most : sum;
}

/// Bytes of the matrices that this part and another one read in operations of the same number. The parts bring these
/// matrices together (residency::Sharing).
double common_bytes(std::span<const Part> parts, const Part& part) {
  const auto read_elsewhere = [&](const operation::Operand& matrix, std::size_t number) {
    return std::ranges::any_of(parts, [&](const Part& other) {
      return &other != &part && number < other.operations.size() &&
             residency::only_reads(other.operations[number], matrix);
    });
  };
  std::vector<operation::Operand> common;
  double bytes = 0;
  for (std::size_t number = 0; number < part.operations.size(); ++number)
    for (const operation::Operand& matrix : part.operations[number].operands()) {
      if (matrix.empty() || matrix.intent != operation::Intent::read) continue;
      if (std::ranges::any_of(common, [&](const auto& other) { return same_matrix(other, matrix); })) continue;
      if (!read_elsewhere(matrix, number)) continue;
      common.push_back(matrix);
      bytes += static_cast<double>(matrix.part_bytes());
    }
  return bytes;
}

}  // namespace

SplitPolicy::SplitPolicy(config::SplitMode mode) : mode_(mode), model_(&assumed_model()) {}

bool SplitPolicy::Forecast::gains() const {
  return split.now < worth_it * alone.now;
}

std::vector<Part> SplitPolicy::parts(const operation::Operation& operation, std::span<DeviceContext* const> working,
                                     DeviceContext& alone) {
  const bool quiet = is_quiet(working);
  if (mode_ != config::SplitMode::always && !quiet) return {};
  std::vector<Part> parts = cut(operation, working);
  if (parts.empty() || mode_ == config::SplitMode::always) return parts;
  return pays_now(operation, forecast(operation, parts, alone)) ? std::move(parts) : std::vector<Part>();
}

std::optional<operation::Estimate> SplitPolicy::estimate(const operation::Operation& operation,
                                                         std::span<DeviceContext* const> working,
                                                         DeviceContext& alone) const {
  if (mode_ != config::SplitMode::always && quiet_calls_ < enough_quiet_calls) return std::nullopt;
  const std::vector<Part> parts = cut(operation, working);
  if (parts.empty()) return std::nullopt;
  const Forecast expected = forecast(operation, parts, alone);
  if (mode_ != config::SplitMode::always && !expected.gains()) return std::nullopt;
  return expected.found;
}

/// Whether no call is in flight, and none was when the last few were made. One look is not enough: threads that take
/// turns find the devices idle now and then.
bool SplitPolicy::is_quiet(std::span<DeviceContext* const> working) {
  const bool idle = std::ranges::all_of(working, &DeviceContext::idle);
  quiet_calls_ = idle ? std::min(quiet_calls_.load() + 1, enough_quiet_calls) : 0;
  return quiet_calls_ == enough_quiet_calls;
}

/// Cuts the call into as many parts as are worth a device; the first part is for the first device, and so on.
std::vector<Part> SplitPolicy::cut(const operation::Operation& operation,
                                   std::span<DeviceContext* const> working) const {
  if (mode_ == config::SplitMode::never || working.size() < 2) return {};
  std::size_t count = working.size();
  if (mode_ == config::SplitMode::automatic) {
    const decide::MachineModel& model = *model_.load(std::memory_order_acquire);
    const double worth = seconds_there({&operation, 1}, model) / min_seconds_of_part;
    if (worth < 2) return {};
    if (worth < static_cast<double>(count)) count = static_cast<std::size_t>(worth);
  }
  std::vector<Part> result;
  for (auto& operations : operation::parts(operation, static_cast<int>(count)))
    result.push_back({working[result.size()], std::move(operations)});
  return result;
}

SplitPolicy::Forecast SplitPolicy::forecast(const operation::Operation& operation, std::span<const Part> parts,
                                            DeviceContext& alone) const {
  const decide::MachineModel& model = *model_.load(std::memory_order_acquire);
  const std::span<const operation::Operation> whole{&operation, 1};
  const Need need_alone = need_of(operation, alone);
  const double there_alone = seconds_there(whole, model);
  Forecast result;
  result.alone = {need_alone.bytes / model.to_device + there_alone,
                  static_cast<double>(need_alone.found.dirty) / model.to_device + there_alone};
  Seconds sum;  // of bringing over all links
  double longest = 0;
  double most = -1;
  for (const Part& part : parts) {
    const Need need = need_of(part, operation);
    // Each part brings its share of the matrices that others bring, too. Nobody brings a matrix that another device
    // holds.
    double over_link = need.bytes;
    if (exchange_) {
      const double common = std::min(need.bytes, common_bytes(parts, part));
      over_link = std::min(over_link - common * (1 - 1 / static_cast<double>(parts.size())), need_alone.bytes);
    }
    const double link = over_link / model.to_device;
    const Seconds bringing{link + (need.bytes - over_link) / between_devices,
                           static_cast<double>(need.found.dirty) / model.to_device};
    const double there = seconds_there(part.operations, model) + seconds_to_hand_over;
    result.split = {std::max(result.split.now, bringing.now + there),
                    std::max(result.split.later, bringing.later + there)};
    sum = {sum.now + link, sum.later + bringing.later};
    longest = std::max(longest, there);
    if (need.bytes <= most) continue;
    most = need.bytes;
    result.found = need.found;
  }
  const double links = 1 + share_of_further_links * static_cast<double>(parts.size() - 1);
  result.split = {std::max(result.split.now, sum.now / links + longest),
                  std::max(result.split.later, sum.later / links + longest)};
  return result;
}

bool SplitPolicy::pays_now(const operation::Operation& operation, const Forecast& forecast) {
  if (forecast.gains()) return true;
  const double gain = worth_it * forecast.alone.later - forecast.split.later;
  if (gain <= 0) return false;
  const double price = forecast.split.now - worth_it * forecast.alone.now;
  return copies_.worth_buying(operands_key(operation), gain, price);
}

}  // namespace blastoff::runtime
