// Instructions one after the other, as Capstone decodes them.
#pragma once

#include <capstone/capstone.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "intercept/patch/relocator.h"

namespace blastoff::intercept::patch {

/// Walks over code from its first byte. One walk at a time in the process: all share one instruction's memory.
class Disassembly {
 public:
  Disassembly(Architecture architecture, std::span<const std::byte> code, std::uint64_t address);

  /// The next instruction, which the call after it overwrites; nullptr at the end, and at what is no instruction.
  const cs_insn* next();

  /// Whether all code has been walked over.
  bool done() const { return left_ == 0; }

 private:
  csh handle_;
  cs_insn* instruction_;
  const std::uint8_t* code_;
  std::size_t left_;
  std::uint64_t address_;
};

}  // namespace blastoff::intercept::patch
