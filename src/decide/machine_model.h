// What is known of a machine before the program's own calls have been timed: the rates of its link, device and CPU.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "decide/family.h"
#include "operation/operation.h"

namespace blastoff::decide {

/// The rate, in floating-point operations per second, of a call with so many operations.
struct RatePoint {
  double flops = 0;
  double rate = 0;
};

/// Rates of one processor, by family and precision. Between two points, the logarithm of the rate is linear in the
/// logarithm of the operations. Outside the points, the rate is that of the nearest point.
class RateTable {
 public:
  /// `points`: at least one; all values positive, the operations rising.
  void set(RateKey key, std::span<const RatePoint> points);

  /// Returns 0 if the table has no rate for the family. If it knows the family in another precision only, it assumes
  /// that double precision has half the rate of single precision, and complex numbers the rate of real ones.
  double rate(RateKey key, double flops) const;

  bool empty() const { return points_.empty(); }

  /// Multiplies all rates by `factor`.
  void scale(float factor);

  static std::size_t index(RateKey key) {
    return static_cast<std::size_t>(key.family) * precision_count + static_cast<std::size_t>(key.precision);
  }

 private:
  /// A row is a slice of `points_`. Its rates are logarithms; the rows are small.
  struct Row {
    std::uint16_t begin = 0;
    std::uint16_t end = 0;
    float factor = 1;        ///< multiplies the rates
    std::uint8_t trust = 0;  ///< 4: measured, 1 to 3: borrowed from another precision, 0: no rates
  };
  struct Point {
    float flops = 0;
    float rate = 0;
  };
  void borrow(Row lent, RateKey to, float factor, std::uint8_t trust);

  std::array<Row, family_count * precision_count> rows_{};
  std::vector<Point> points_;
};

/// Floating-point operations per second that no core exceeds.
inline constexpr double max_flops_of_a_core = 45e9;

/// Predicts the time of operations and transfers before any call was timed. The defaults describe no machine in
/// particular; share/machine.schema.json says what a file may hold.
struct MachineModel {
  std::string name = "assumed rates";

  /// open_seconds of a machine on which nobody has measured it.
  static constexpr double assumed_open_seconds = 0.35;
  /// close_seconds of such a machine: what an H200 took.
  static constexpr double assumed_close_seconds = 0.12;

  double to_device = 25e9;         ///< bytes per second of matrices, through page-locked buffers
  double from_device = 25e9;       ///< bytes per second of results, through page-locked buffers
  double direct_to_device = 25e9;  ///< bytes per second from matrices that the program has page-locked
  double device_seconds = 60e-6;   ///< seconds of every call with all its matrices on the device: launches, waiting,
                                   ///< looking at pages
  double page_seconds = 0;         ///< seconds for looking at each 4096 bytes of a matrix that is on the device
  double device_flops = 10e12;     ///< operations per second where `device_rates` has no rate
  double device_memory_rate = 0;   ///< bytes per second at which the device reads its memory; 0: unknown
  double open_seconds = assumed_open_seconds;    ///< seconds for opening the device and its libraries
  double close_seconds = assumed_close_seconds;  ///< seconds by which a process with an open device ends later
  RateTable device_rates;

  double cpu_flops = 720e9;    ///< operations per second that the process's CPUs do not exceed, where `cpu_rates` has
                               ///< no rate
  double cpu_memory_rate = 0;  ///< bytes per second at which the CPUs read memory; 0: unknown
  double cpu_device_memory_rate = 0;  ///< the same for the device's memory; 0: they cannot, too
  RateTable cpu_rates;  ///< rates of the BLAS in use with the threads in use; empty if not measured on this
                        ///< machine

  /// Seconds on the device with all matrices there, without the copy of the results to the host.
  double device_seconds_of(const operation::Operation& operation) const;
  /// Those of them for looking at the pages of the matrices.
  double looking_seconds_of(const operation::Operation& operation) const;
  /// Seconds that the device should not exceed. For a family without rates, these come from the rate of products, if
  /// the operation is large. 0: unknown.
  double max_device_seconds_of(const operation::Operation& operation) const;
  /// Seconds on the CPU; 0: unknown.
  double cpu_seconds_of(const operation::Operation& operation) const;
  /// Seconds that no CPU of this machine falls below.
  double min_cpu_seconds_of(const operation::Operation& operation) const;

  /// Returns the Work::volume below which a call cannot gain: one core computes it in less time than the device needs
  /// for any call.
  double floor_volume() const;

  /// Returns the model of this machine with `processes` processes sharing the device: its rates and those of the link
  /// are divided among them.
  MachineModel shared_by(int processes) const;
};

}  // namespace blastoff::decide
