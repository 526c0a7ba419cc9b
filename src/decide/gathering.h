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

/// Expected seconds of a gathered call, if the model knows the device. `solve`: the whole problem on one device.
/// `moving`: seconds in which the matrices go from rank to rank, there and back.
double gathered_seconds(const MachineModel& model, const operation::Operation& solve, double moving);

/// The least time that all ranks may take together, each as fast as MachineModel::min_cpu_seconds_of() says.
double min_seconds_together(const MachineModel& model, const operation::Operation& solve, int ranks);

/// The ranks of a job may take so many times the least time.
inline constexpr double slowest_ranks = 16;

/// Whether gathering is expected to take less than half of the time of all ranks together, which is `together` seconds.
/// False if the model does not know the device.
bool gathering_pays(const MachineModel& model, const operation::Operation& solve, double moving, double together);

}  // namespace blastoff::decide
