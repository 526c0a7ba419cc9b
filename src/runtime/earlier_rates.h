// How fast the CPU computed the calls of a program's earlier runs. A run that opens the device at once times the CPU
// for no call, and cannot tell by itself what it has saved.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decide/decider.h"

namespace blastoff::runtime {

/// The rates of one command, in a file of the user's cache, as of EarlierRuns. Whether a run had a device is all one.
class EarlierRates {
 public:
  /// `conditions`: what else the CPU's speed depends on. Changes errno. There is nothing where the variables name no
  /// cache.
  explicit EarlierRates(const std::string& conditions);

  const std::vector<decide::CpuRate>& rates() const { return rates_; }

  /// Writes the file where this run's rates tell more than is known, or something else: then the mean of both. Silent
  /// where that fails. Changes errno.
  void keep(const std::vector<decide::CpuRate>& rates) const;

  static constexpr std::size_t most_rates = 512;

 private:
  std::uint64_t command_;
  std::string path_;  ///< "": no cache
  std::vector<decide::CpuRate> rates_;
};

}  // namespace blastoff::runtime
