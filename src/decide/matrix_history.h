// Products of a matrix and a vector: decides when to copy the matrix to the device.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "decide/decider.h"
#include "decide/link_rate.h"
#include "operation/estimate.h"
#include "operation/operation.h"
#include "platform/backoff.h"

namespace blastoff::decide {

/// The device computes such a product many times as fast as the CPU if its memory holds the matrix, and many times as
/// slowly if the matrix has to be copied first. So the matrix is copied when the CPU has spent as much time on its
/// products as the copy takes (the ski rental rule: if the matrix is never used again, the program has lost that much
/// time again, not more). If the program rewrites a matrix before its uses have paid for the copy, or if the device is
/// no faster, the next attempt requires twice as much time.
///
/// Matrices are told apart by address, shape and leading dimension. The latest few hundred are known. LAPACK uses every
/// part of a matrix once, so no history can tell how one part fares. A matrix of which nothing is known is therefore
/// used on the device if it is there already, as long as such uses are faster than the CPU on average. If they are
/// slower, such uses pause for a while, each time twice as long.
///
/// There are no locks, since a signal handler may interrupt any function for good, and several threads may call at
/// once. A lost update costs only time. Thread-safe.
class MatrixHistory {
 public:
  /// The link must outlive this.
  explicit MatrixHistory(const LinkRate& link) : link_(link) {}

  /// Whether the device should compute this product. `found`: how much of the matrix the device has; nothing if that is
  /// unknown.
  bool worth_device(const operation::Operation& product, const std::optional<operation::Estimate>& found);

  /// Whether the CPU, as far as is known, takes no more time for this product than the device takes for any call. Does
  /// not ask the device.
  bool cannot_gain(const operation::Operation& product) const;

  /// How many products may follow without being judged: while no device is open, the judgement of each would take more
  /// time than it is worth. So many products delay a copy by no more than a tenth of the time that the CPU has still to
  /// spend on this matrix.
  std::uint32_t settled_products(const operation::Operation& product) const;

  /// Learns from a product that has ended. What it stands for (Observation::calls) counts for its matrix, since a
  /// program mostly uses one matrix again and again.
  void observe(const operation::Operation& product, const Observation& observation);

  /// The CPU's time for this product: the shortest so far with this matrix, otherwise from its rate with other
  /// matrices. 0: unknown.
  double cpu_seconds(const operation::Operation& product) const;

  /// Takes the times of the device from the model.
  void assume(const MachineModel& model);

  /// From now on, no copy has to wait until the device is open.
  void device_is_open();

 private:
  /// What is known of one matrix. Times in seconds.
  struct Record {
    std::atomic<std::uint64_t> key{0};
    std::atomic<std::uint32_t> last_use{0};
    std::atomic<std::uint32_t> hits{0};      ///< uses on the device since the matrix was copied there
    std::atomic<std::uint32_t> failures{0};  ///< consecutive attempts that did not pay
    std::atomic<float> spent{0};             ///< time spent by the CPU since the last use on the device
    std::atomic<float> required{0};          ///< time to be spent by the CPU before the next use, even if the matrix is
                                             ///< on the device
    std::atomic<float> cpu{0};               ///< shortest product on the CPU; 0: none yet
    std::atomic<float> device{0};            ///< time of a use on the device, a moving average
    std::atomic<bool> brought{false};        ///< the matrix is on the device, as far as we know
    std::atomic<bool> expected{false};       ///< the latest decision was to copy the matrix to the device
  };
  static constexpr std::size_t set_count = 32;
  static constexpr std::size_t ways = 8;

  /// How fast the device is with matrices that are there at their first product.
  struct FirstUses {
    std::atomic<float> cpu_rate{0};        ///< bytes of matrices per second on the CPU, a moving average
    std::atomic<float> ratio{0};           ///< the device's time divided by the CPU's, a moving average
    std::atomic<std::uint32_t> trials{0};  ///< number since the last comparison
    platform::Backoff backoff;
    void learn_cpu(double bytes, double seconds);
    void learn_device(double bytes, double seconds);
  };

  Record* find(std::uint64_t key);
  const Record* find(std::uint64_t key) const;
  Record& find_or_replace(std::uint64_t key);
  double seconds_to_bring(double bytes) const;
  void brought(Record& record, const Observation& observation);
  static void used(Record& record, double seconds);
  static void fail(Record& record, double cost);

  const LinkRate& link_;
  std::array<std::array<Record, ways>, set_count> records_;
  FirstUses first_uses_;
  std::atomic<std::uint32_t> clock_{0};
  std::atomic<bool> device_open_{false};
  std::atomic<float> open_seconds_{static_cast<float>(MachineModel::assumed_open_seconds)};
  std::atomic<float> min_device_seconds_{0};
};

}  // namespace blastoff::decide
