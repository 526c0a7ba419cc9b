// Classes of calls of which the root of a grid says nothing for a while: it does not want them, and all processes make
// them together. All processes count alike.
#pragma once

#include <cstdint>
#include <map>

namespace blastoff::scalapack {

class Silence {
 public:
  /// The next `calls` of this class are silent.
  void begin(std::uint32_t call_class, std::uint32_t calls) {
    if (calls > 0) left_[call_class] = calls;
  }

  /// To be called once for each call of a class, before all else: whether the root announces no decision about it.
  bool covers(std::uint32_t call_class) {
    const auto known = left_.find(call_class);
    if (known == left_.end()) return false;
    if (--known->second == 0) left_.erase(known);
    return true;
  }

 private:
  std::map<std::uint32_t, std::uint32_t> left_;
};

}  // namespace blastoff::scalapack
