// Addresses for memory that was another process's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "platform/span.h"

namespace blastoff::prediction {

/// Reserves host addresses for spans of another process, without memory behind them: what lay together lies together,
/// as far from a boundary of 2 MiB as there. The mapping is ordinary memory to the kernel, and is never touched.
class AddressSpace {
 public:
  /// To be called for all spans before reserve().
  void add(platform::Span span);

  /// The error is one line.
  tl::expected<void, std::string> reserve();

  /// The address that stands for one of these; 0 where none of them contains it.
  std::uintptr_t at(std::uintptr_t address) const;

  /// The parts of a span that stand for something; it may reach across others.
  std::vector<platform::Span> of(platform::Span span) const;

 private:
  struct Extent {
    std::uintptr_t end = 0;
    std::uintptr_t place = 0;
  };
  std::map<std::uintptr_t, Extent> extents_;  ///< by begin; they do not overlap
};

}  // namespace blastoff::prediction
