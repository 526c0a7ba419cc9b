// Decides whether one rank should solve a problem of several ranks, because that takes less time for all.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <tuple>

#include "decide/machine_model.h"
#include "operation/operation.h"

namespace blastoff::decide {

/// Bytes per second at which one rank exchanges a distributed matrix with the others by messages, packing and unpacking
/// included. Ranks of one node and today's networks exceed it. Assumed, not measured.
inline constexpr double rate_of_messages = 1e9;

/// Bytes per second at which all ranks of a node together copy their parts of a matrix to or from memory that they
/// share: supposed, until copies have shown it. Takes no lock. Thread-safe.
class SharedMemoryRate {
 public:
  /// `ranks` have copied a matrix of so many bytes, all at once.
  void learn(int ranks, double bytes, double seconds);
  double bytes_per_second(int ranks) const;

 private:
  static constexpr double supposed(int ranks) {
    constexpr double of_a_rank = 2e9;
    constexpr double of_a_node = 1.6e10;
    return std::min(ranks * of_a_rank, of_a_node);
  }

  std::atomic<double> times_supposed_{0};  ///< 0: no large copy yet
};

/// Whether the model knows how fast the device solves the problem.
bool knows_device(const MachineModel& model, const operation::Operation& solve);

/// The times that all ranks of a grid have taken for a problem. Thread-safe.
class TimesTogether {
 public:
  void learn(const operation::Operation& solve, int ranks, double seconds);
  /// Returns the shortest time of such a problem. If none of this size has been measured, it is estimated from the
  /// problem of the nearest size, which has at most `neighbourhood` times as many or as few operations. 0: there is
  /// none.
  double min_seconds(const operation::Operation& solve, int ranks) const;
  /// Returns how many problems of exactly this size have been measured.
  int count(const operation::Operation& solve, int ranks) const;

  static constexpr double neighbourhood = 8;

 private:
  struct Measured {
    double min_seconds = 0;
    int count = 0;
  };
  /// Routine, number of ranks, floating-point operations.
  using Problem = std::tuple<operation::RoutineId, int, double>;

  mutable std::mutex mutex_;
  std::map<Problem, Measured> measured_;
};

/// A call that all ranks of a grid make, as one rank would make it for all.
struct WholeCall {
  const operation::Operation& solve;  ///< the whole problem on one device
  int ranks = 1;                      ///< of the grid
  double moving = 0;                  ///< seconds in which the matrices go from rank to rank, there and back
};

/// Expected seconds of a gathered call, if the model knows the device.
double gathered_seconds(const MachineModel& model, const WholeCall& call);

/// The least time that all ranks may take together, each as fast as MachineModel::min_cpu_seconds_of() says.
double min_seconds_together(const MachineModel& model, const operation::Operation& solve, int ranks);

/// The ranks of a job may take so many times the least time.
inline constexpr double slowest_ranks = 16;

/// Whether gathering is expected to take less than half of the time of all ranks together, which is `together` seconds.
/// False if the model does not know the device.
bool gathering_pays(const MachineModel& model, const WholeCall& call, double together);

/// What a process has learned of distributed calls, and how it decides about them. Thread-safe.
class GatheringRule {
 public:
  /// Seconds in which so many bytes go from rank to rank.
  double moving_seconds(double bytes, int ranks, bool through_memory) const;
  /// What all ranks are expected to take together: as measured, or else at least.
  double seconds_together(const MachineModel& model, const WholeCall& call) const;
  /// Whether gathering pays by the times that were measured, once the gathered problem has been solved more than once:
  /// the first time, the memory and the device's kernels are new. If the ranks have never solved it together, the
  /// shortest time that they may take counts; if that is too little, they solve it together the next time.
  bool pays(const MachineModel& model, const WholeCall& call) const;
  /// Whether it would pay if the ranks were slow: until they have made such a call together, nobody knows.
  bool may_pay(const MachineModel& model, const WholeCall& call) const;

  bool has_gathered(const WholeCall& call) const { return gathered_.count(call.solve, call.ranks) > 0; }
  void learn_together(const WholeCall& call, double seconds) { together_.learn(call.solve, call.ranks, seconds); }
  void learn_gathered(const WholeCall& call, double seconds) { gathered_.learn(call.solve, call.ranks, seconds); }
  /// As SharedMemoryRate::learn().
  void learn_copy(int ranks, double bytes, double seconds) { rate_.learn(ranks, bytes, seconds); }

 private:
  TimesTogether together_;
  TimesTogether gathered_;
  SharedMemoryRate rate_;
};

}  // namespace blastoff::decide
