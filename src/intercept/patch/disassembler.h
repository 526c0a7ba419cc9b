// Instructions one after the other, as Capstone decodes them.
#pragma once

#include <capstone/capstone.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "intercept/patch/relocator.h"

namespace blastoff::intercept::patch {

/// What is told of an instruction beside its length and mnemonic. Operands take half of the time. `arguments`: the same
/// as operands, for those who look while functions are patched.
enum class Detail : std::uint8_t { none, operands, arguments };

/// Decodes code from its first byte. One at a time in the process for each Detail, because all share the memory for one
/// instruction.
class Disassembly {
 public:
  Disassembly(Architecture architecture, std::span<const std::byte> code, std::uint64_t address,
              Detail detail = Detail::operands);

  /// The next instruction; the following call overwrites it. nullptr at the end, and at bytes that are not an
  /// instruction.
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
