// Decodes instructions one after the other by Capstone.
#pragma once

#include <capstone/capstone.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "intercept/patch/relocator.h"

namespace blastoff::intercept::patch {

/// How much is decoded besides length and mnemonic. Decoding operands takes half of the time. `arguments` gives the
/// same as `operands`, in memory of its own, for code that is read while functions are being patched.
enum class Detail : std::uint8_t { none, operands, arguments };

/// Decodes code from its first byte. Only one Disassembly of each Detail may be in use in the process at a time,
/// because they share the memory for one instruction.
class Disassembly {
 public:
  Disassembly(Architecture architecture, std::span<const std::byte> code, std::uint64_t address,
              Detail detail = Detail::operands);

  /// Returns the next instruction, which the following call overwrites; nullptr at the end, and at bytes that are not
  /// an instruction.
  const cs_insn* next();

  /// Whether all code has been decoded.
  bool done() const { return left_ == 0; }

 private:
  csh handle_;
  cs_insn* instruction_;
  const std::uint8_t* code_;
  std::size_t left_;
  std::uint64_t address_;
};

}  // namespace blastoff::intercept::patch
