// How fast the CPU computed the calls of earlier runs of a program. A run that opens the device at its start times no
// call on the CPU, so it cannot tell by itself how much time it has saved.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decide/decider.h"

namespace blastoff::runtime {

/// The rates of one command, in a file of the user's cache, as for RunHistory. Runs without a device count, too.
class EarlierRates {
 public:
  /// `conditions`: what else the CPU's speed depends on. Changes errno. There are no rates if the environment names no
  /// cache.
  explicit EarlierRates(const std::string& conditions);

  const std::vector<decide::CpuRate>& rates() const { return rates_; }

  /// Writes the file if this run has rates that are not known yet, or that change those known. They become the mean
  /// over the latest runs. Silent if writing fails. Changes errno.
  void keep(const std::vector<decide::CpuRate>& rates) const;

  static constexpr std::size_t max_rates = 512;

 private:
  std::uint64_t command_;
  std::string path_;  ///< "" if there is no cache
  std::vector<decide::CpuRate> rates_;
};

}  // namespace blastoff::runtime
