// Products of a matrix and a vector: when is the matrix worth bringing to the device?
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "decide/decider.h"
#include "operation/estimate.h"
#include "operation/operation.h"

namespace blastoff::decide {

/// The device computes such a product many times as fast as the CPU if it finds the matrix, and many times as slowly if
/// it has to bring it. So a matrix is brought when the CPU has spent as much time on it as bringing it takes (the ski
/// rental rule: if it is never used again, the program has lost as much time again, no more). If the program rewrites a
/// matrix before its uses have paid for bringing it, or if the device is no faster, twice as much is asked for at the
/// next attempt.
///
/// Matrices are told apart by address, shape and leading dimension. The latest few hundred are known. LAPACK uses every
/// part of a matrix once, so nothing can be learnt from a single one: what is there is used at first sight as long as
/// such uses are faster than the CPU on average. If they are not, they pause for a while, each time twice as long.
///
/// A signal handler may interrupt any of this for good, and several threads may meet: there are no locks, and a lost
/// update costs time alone. Thread-safe.
class MatrixHistory {
 public:
  /// Whether the device is to make this product. `found`: what it would find there; nothing where nobody can tell.
  bool worth_device(const operation::Operation& product, const std::optional<operation::Estimate>& found);

  /// Whether the CPU takes no more time for it than the device for any call, as far as is known. Asks nobody.
  bool cannot_gain(const operation::Operation& product) const;

  /// A product is over.
  void observe(const operation::Operation& product, const Observation& observation);

  /// What the CPU takes for it: the least so far with this matrix, else by its rate for others; 0: unknown.
  double cpu_seconds(const operation::Operation& product) const;

  /// Until uploads have shown better.
  void assume(const MachineModel& model);

  /// Some call is over: learns that there is a device, and how fast matrices get there.
  void learn_link(const Observation& observation);

 private:
  /// What is known of one matrix. Times in seconds.
  struct Record {
    std::atomic<std::uint64_t> key{0};
    std::atomic<std::uint32_t> last_use{0};
    std::atomic<std::uint32_t> hits{0};      ///< uses on the device since it was brought
    std::atomic<std::uint32_t> failures{0};  ///< attempts in a row that did not pay
    std::atomic<float> spent{0};             ///< by the CPU since the last use on the device
    std::atomic<float> required{0};          ///< to be spent before the next use, even if the matrix is there
    std::atomic<float> cpu{0};               ///< shortest product of the CPU; 0: none yet
    std::atomic<float> device{0};            ///< of a use on the device, a moving average
    std::atomic<bool> brought{false};        ///< on the device as far as we know
    std::atomic<bool> expected{false};       ///< the latest use was to bring it
  };
  static constexpr std::size_t set_count = 32;
  static constexpr std::size_t ways = 8;

  /// How matrices fare that the device finds at first sight.
  struct FirstUses {
    std::atomic<float> cpu_rate{0};        ///< bytes of matrices per second of the CPU, a moving average
    std::atomic<float> ratio{0};           ///< of the device's time to the CPU's, a moving average
    std::atomic<std::uint32_t> trials{0};  ///< since the last verdict
    std::atomic<std::int32_t> pause{0};    ///< first uses yet to be left to the CPU
    std::atomic<std::int32_t> next_pause{64};
    bool welcome();
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

  std::array<std::array<Record, ways>, set_count> records_;
  FirstUses first_uses_;
  std::atomic<std::uint32_t> clock_{0};
  std::atomic<bool> device_open_{false};
  std::atomic<float> bytes_per_second_{25e9F};
  std::atomic<float> least_device_seconds_{0};
  std::atomic<bool> link_seen_{false};  ///< uploads have shown that rate
};

}  // namespace blastoff::decide
