// What is known of a machine before the program's own calls have told: rates of its link, its device and its CPU.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "decide/family.h"
#include "operation/operation.h"

namespace blastoff::decide {

/// So many floating-point operations per second in a call of so many.
struct RatePoint {
  double flops = 0;
  double rate = 0;
};

/// Rates of one processor, by family and precision. Between two points the logarithm of the rate is linear in the
/// logarithm of the operations; beyond the outermost, the rate is theirs.
class RateTable {
 public:
  /// `points`: at least one, positive, the operations rising.
  void set(RateKey key, std::span<const RatePoint> points);

  /// 0 where the table does not tell. Where it knows the family in another precision only: half the rate in double
  /// precision for that in single, and the other way round; real for complex.
  double rate(RateKey key, double flops) const;

  bool empty() const { return points_.empty(); }

  /// All rates, times that.
  void scale(float factor);

  static std::size_t index(RateKey key) {
    return static_cast<std::size_t>(key.family) * precision_count + static_cast<std::size_t>(key.precision);
  }

 private:
  /// Logarithms; a row is a slice of `points_`, which is small.
  struct Row {
    std::uint16_t begin = 0;
    std::uint16_t end = 0;
    float factor = 1;        ///< of the rates
    std::uint8_t trust = 0;  ///< 0: there is none
  };
  struct Point {
    float flops = 0;
    float rate = 0;
  };
  void borrow(Row lent, RateKey to, float factor, std::uint8_t trust);

  std::array<Row, family_count * precision_count> rows_{};
  std::vector<Point> points_;
};

/// Operations per second of a core, which none exceeds.
inline constexpr double most_flops_of_a_core = 45e9;

/// Seconds of operations and of transfers, as expected before any call. The defaults are those of no machine in
/// particular; share/machine.schema.json says what a file may hold.
struct MachineModel {
  std::string name = "assumed rates";

  double to_device = 25e9;         ///< bytes per second of matrices, through page-locked buffers
  double from_device = 25e9;       ///< likewise
  double direct_to_device = 25e9;  ///< bytes per second from matrices that are page-locked themselves
  double device_seconds = 60e-6;   ///< of every call with all its matrices there: launches, waiting, looking at pages
  double page_seconds = 0;         ///< of looking at 4096 more bytes of a matrix that is there
  double device_flops = 10e12;     ///< per second, of what `device_rates` does not tell
  double device_memory_rate = 0;   ///< bytes per second that the device reads of its memory; 0: unknown
  double open_seconds = 0.35;      ///< of opening the device and its libraries
  RateTable device_rates;

  double cpu_flops = 720e9;    ///< per second: the process's CPUs are not faster, of what `cpu_rates` does not tell
  double cpu_memory_rate = 0;  ///< bytes per second; 0: unknown
  RateTable cpu_rates;         ///< of the BLAS in use on the threads in use; empty where nobody has measured that here

  /// With all matrices there, and the results not brought home.
  double device_seconds_of(const operation::Operation& operation) const;
  /// 0: unknown.
  double cpu_seconds_of(const operation::Operation& operation) const;
  /// What no CPU of this machine falls below.
  double least_cpu_seconds_of(const operation::Operation& operation) const;

  /// Work::volume below which a call cannot gain: one core makes it in less time than the device needs for any call.
  double floor_volume() const;

  /// The same machine where so many processes share the device: what it computes and what the link carries is divided
  /// among them.
  MachineModel shared_by(int processes) const;
};

}  // namespace blastoff::decide
