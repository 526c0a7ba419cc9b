// Whether several devices compute one call together.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "config/settings.h"
#include "decide/machine_model.h"
#include "decide/ski_rental.h"
#include "operation/estimate.h"
#include "operation/operation.h"
#include "runtime/placement.h"

namespace blastoff::runtime {

/// The rule. A call is split if it is expected to take less time split than on one device, where each device brings
/// what it lacks over its own link, and if no other call is in flight: several calls at once run on a device each. The
/// cut depends on the call alone, so each part finds on its device the matrices that it has left there.
///
/// If one device already holds the matrices, and splitting gains only once the other devices hold their parts, bringing
/// these parts is an investment. It is made when the time lost without it has reached its price (the ski rental rule,
/// as in decide/predicted_times.h).
class SplitPolicy {
 public:
  explicit SplitPolicy(config::SplitMode mode);

  /// Sets the model of the devices and their links. The model must outlive this.
  void use(const decide::MachineModel& model) { model_.store(&model, std::memory_order_release); }

  /// The devices copy from each other, so a matrix that several parts read crosses the links to the host once.
  void let_exchange() { exchange_ = true; }

  /// The parts of a call that is about to be made, on some of the `working` devices. Empty if the call runs as a whole
  /// on `alone`, the device where it takes least time. For one thread at a time.
  std::vector<Part> parts(const operation::Operation& operation, std::span<DeviceContext* const> working,
                          DeviceContext& alone);

  /// What the part with most bytes to bring would find on its device, if the call is expected to be split; else
  /// nullopt. Thread-safe.
  std::optional<operation::Estimate> estimate(const operation::Operation& operation,
                                              std::span<DeviceContext* const> working, DeviceContext& alone) const;

 private:
  /// Expected seconds of a call, now and when it is repeated. Then only the matrices that the CPU keeps rewriting have
  /// to be brought.
  struct Seconds {
    double now = 0;
    double later = 0;
  };
  struct Forecast {
    Seconds alone;
    Seconds split;
    operation::Estimate found;  ///< of the part that has to bring most
    bool gains() const;
  };

  std::vector<Part> cut(const operation::Operation& operation, std::span<DeviceContext* const> working) const;
  Forecast forecast(const operation::Operation& operation, std::span<const Part> parts, DeviceContext& alone) const;
  bool is_quiet(std::span<DeviceContext* const> working);
  bool pays_now(const operation::Operation& operation, const Forecast& forecast);

  static constexpr int enough_quiet_calls = 8;

  const config::SplitMode mode_;
  std::atomic<const decide::MachineModel*> model_;
  bool exchange_ = false;
  std::atomic<int> quiet_calls_{enough_quiet_calls};  ///< calls since two of them met
  decide::SkiRental copies_;                          ///< to the parts, by the time that calls lose unsplit
};

}  // namespace blastoff::runtime
