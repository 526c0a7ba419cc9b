// The process of a grid that decides about a distributed call, and makes it for all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "decide/gathering.h"
#include "operation/operation.h"
#include "platform/span.h"
#include "report/refusal.h"
#include "runtime/device_context.h"
#include "runtime/team_solve.h"
#include "scalapack/gathering.h"

namespace blastoff::runtime {

/// The local call as an operation; nullopt if a device cannot make it, or if there is nothing to compute.
std::optional<operation::Operation> operation_of(const scalapack::GatheredProblem& problem);

/// Whether the device can make the call, block by block if it does not fit.
bool fits_device(const scalapack::GatheredProblem& problem, const operation::Operation& operation,
                 const DeviceContext& context);

/// One call. The other processes of the grid have such an object, too: they may be members of the team that makes it.
class GridRoot final : public scalapack::Root {
 public:
  explicit GridRoot(const void* caller) : caller_(caller) {}

  bool insists() const override;
  bool hopes(const scalapack::GatheredProblem& problem, const scalapack::Grid& grid,
             scalapack::Transport transport) override;
  bool wants(const scalapack::GatheredProblem& problem, const scalapack::Grid& grid,
             scalapack::Segment* segment) override;
  scalapack::Team team() const override { return team_; }
  bool can_alone() const override { return fits_; }
  bool asks_for_members() const override { return asks_for_members_; }
  void has_members(int members) override { members_ = members; }
  scalapack::SeenDevices seen_devices() override;
  bool postpones() override;
  std::uint32_t silence(const scalapack::Call& call) override;
  std::unique_ptr<platform::WorkerPool> workers_to_copy(std::size_t bytes) override;
  void copied(double bytes, double seconds) override;
  void changed(std::byte* begin, std::size_t bytes) override;
  bool solve(const scalapack::GatheredProblem& problem, scalapack::Segment* segment) override;
  TeamOutcome make_in_team(const scalapack::GatheredProblem& problem, scalapack::TeamWords& words,
                           const scalapack::Team& team, int member, int device,
                           const scalapack::TeamMatrices& matrices) override;

  /// Whether another process of the grid is the one that decides.
  void follow() { follows_ = true; }
  bool follows() const { return follows_; }

  /// Why this process did not solve it; Refusal::none if it did.
  report::Refusal refusal() const { return refusal_; }

  /// Learns how long all processes took together. Opens the device if a gathered call would have gained enough.
  void learn_together(double elapsed);
  /// Learns how long all took with one that made the call for all.
  void learn_gathered(double seconds);

 private:
  void use(scalapack::Segment& segment, const scalapack::GatheredProblem& problem);
  report::Refusal judge(const scalapack::GatheredProblem& problem, const scalapack::Grid& grid,
                        scalapack::Transport transport);
  /// Only while it is judged.
  decide::WholeCall whole() const { return {.solve = *judged_, .ranks = ranks_, .moving = moving_}; }
  bool pays() const;
  double seconds_together() const;
  void choose(const scalapack::GatheredProblem& problem, const DeviceContext& context, int ranks,
              const scalapack::Segment* segment);
  report::Refusal room_for(const scalapack::GatheredProblem& problem, const scalapack::Grid& grid,
                           const scalapack::Segment* segment);

  const void* const caller_;
  report::Refusal refusal_ = report::Refusal::none;
  bool follows_ = false;
  std::optional<operation::Operation> judged_;
  bool knows_device_ = false;
  bool may_pay_ = false;     ///< nobody knows yet whether it pays
  platform::Span memory_{};  ///< of the problem, if the ranks share it
  int ranks_ = 0;
  double moving_ = 0;
  bool fits_ = true;  ///< the root's device can make the call alone
  scalapack::Team team_{};
  int members_ = 0;  ///< that a team may have, if the processes share no memory; 0: not known
  bool asks_for_members_ = false;
};

}  // namespace blastoff::runtime
