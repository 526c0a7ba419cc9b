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

/// The rule. A call is split where it is expected to take less time so, with what each device has to bring over its own
/// link, and where no other call is on its way: of several calls at once, each is to have a device of its own. The cut
/// depends on the call alone, so a part finds on its device what it has left there.
///
/// Where one device holds the matrices already and splitting gains only once the others hold their parts, bringing
/// these is an investment, made when the time lost without it has reached its price (the ski rental rule, as in
/// decide/predicted_times.h).
class Splitting {
 public:
  explicit Splitting(config::SplitMode mode);

  /// What is known of the devices and their links, from now on. The model must outlive this.
  void use(const decide::MachineModel& model) { model_.store(&model, std::memory_order_release); }

  /// The devices copy from each other, so that what several parts read crosses the links to the host once.
  void let_exchange() { exchange_ = true; }

  /// The parts of a call that is about to be made, on some of the `working` devices; empty: it runs on `alone`, where
  /// it takes least. One thread at a time.
  std::vector<Part> parts(const operation::Operation& operation, std::span<Session* const> working, Session& alone);

  /// What the device that has to bring most would find, if the call is expected to be split. Thread-safe.
  std::optional<operation::Estimate> estimate(const operation::Operation& operation, std::span<Session* const> working,
                                              Session& alone) const;

 private:
  /// Of a call: now, and when it is made again, where only what the CPU keeps rewriting has to be brought.
  struct Seconds {
    double now = 0;
    double later = 0;
  };
  struct Forecast {
    Seconds alone;
    Seconds split;
    operation::Estimate found;  ///< by the part that has to bring most
    bool gains() const;
  };

  std::vector<Part> cut(const operation::Operation& operation, std::span<Session* const> working) const;
  Forecast forecast(const operation::Operation& operation, std::span<const Part> parts, Session& alone) const;
  bool is_quiet(std::span<Session* const> working);
  bool pays_now(const operation::Operation& operation, const Forecast& forecast);

  static constexpr int enough_quiet_calls = 8;

  const config::SplitMode mode_;
  std::atomic<const decide::MachineModel*> model_;
  bool exchange_ = false;
  std::atomic<int> quiet_calls_{enough_quiet_calls};  ///< since one met another
  decide::SkiRental copies_;                          ///< for the parts, by the time that calls lose unsplit
};

}  // namespace blastoff::runtime
