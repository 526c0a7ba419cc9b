// How fast the CPU computed the calls of earlier runs of a program, and how long whole runs without a device took. A
// run that opens the device at its start times no call on the CPU, so it cannot tell by itself how much time it has
// saved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decide/decider.h"
#include "report/earlier_run.h"

namespace blastoff::runtime {

/// The rates of one command, in a file of the user's cache, as for RunHistory. Runs without a device count, too.
class EarlierRates {
 public:
  /// `conditions`: what else the CPU's speed depends on. Changes errno. There are no rates if the environment names no
  /// cache.
  explicit EarlierRates(const std::string& conditions);

  const std::vector<decide::CpuRate>& rates() const { return rates_; }
  /// Runs on the CPU alone.
  const std::optional<report::EarlierRun>& cpu_run() const { return cpu_run_; }

  /// Writes the file if this run has rates that are not known yet, or that change those known. They become the mean
  /// over the latest runs, and so does a run on the CPU, `cpu_run`, with the others that have done the same work.
  /// Silent if writing fails. Changes errno.
  void keep(const std::vector<decide::CpuRate>& rates, const std::optional<report::EarlierRun>& cpu_run) const;

  static constexpr std::size_t max_rates = 512;

 private:
  std::uint64_t command_;
  std::string path_;  ///< "" if there is no cache
  std::vector<decide::CpuRate> rates_;
  std::optional<report::EarlierRun> cpu_run_;
};

}  // namespace blastoff::runtime
