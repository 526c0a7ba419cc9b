// Addresses in this process for memory of another process.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "platform/span.h"

namespace blastoff::prediction {

/// Reserves host addresses for spans of another process, without memory behind them. Spans that were adjacent stay
/// adjacent, and each keeps its distance from a boundary of 2 MiB. To the kernel the mapping is ordinary memory; it is
/// never touched.
class AddressSpace {
 public:
  /// To be called for all spans before reserve().
  void add(platform::Span span);

  /// The error is one line.
  tl::expected<void, std::string> reserve();

  /// The address in this process that stands for `address`; 0 if no span contains it.
  std::uintptr_t at(std::uintptr_t address) const;

  /// The parts of `span` for which addresses are reserved, as spans of this process. `span` may extend across others.
  std::vector<platform::Span> of(platform::Span span) const;

 private:
  struct Extent {
    std::uintptr_t end = 0;
    std::uintptr_t place = 0;
  };
  std::map<std::uintptr_t, Extent> extents_;  ///< by begin; they do not overlap
};

}  // namespace blastoff::prediction
