// What the first ranks of grids have decided about the calls that all ranks make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "scalapack/gathering.h"

namespace blastoff::prediction {

struct Verdict {
  scalapack::Outcome outcome = scalapack::Outcome::distributed;
  double seconds = 0;  ///< of all ranks, if it is gathered
};

/// The ranks of one job share them.
class Verdicts {
 public:
  void add(std::uint32_t number, const Verdict& verdict) { by_number_[number].push_back(verdict); }
  /// The verdict about a call with this number, before which there were `earlier` ones; nullptr: not yet decided.
  const Verdict* find(std::uint32_t number, std::size_t earlier) const {
    const auto found = by_number_.find(number);
    return found == by_number_.end() || found->second.size() <= earlier ? nullptr : &found->second[earlier];
  }

 private:
  std::map<std::uint32_t, std::vector<Verdict>> by_number_;
};

}  // namespace blastoff::prediction
