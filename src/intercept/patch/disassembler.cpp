#include "intercept/patch/disassembler.h"

namespace blastoff::intercept::patch {
namespace {

/// A decoder. It is never closed, because functions may be patched until the process ends.
struct Capstone {
  csh handle = 0;
  cs_insn* instruction = nullptr;

  Capstone(cs_arch architecture, cs_mode mode, Detail detail) {
    if (cs_open(architecture, mode, &handle) != CS_ERR_OK) return;
    if (detail != Detail::none) cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
    instruction = cs_malloc(handle);
  }
};

/// Opened at first use. Capstone is linked for this library's own architecture only.
template <Detail detail>
const Capstone& capstone(Architecture architecture) {
  if (architecture == Architecture::x86_64) {
    static const Capstone x86_64(CS_ARCH_X86, CS_MODE_64, detail);
    return x86_64;
  }
  static const Capstone aarch64(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, detail);
  return aarch64;
}

const Capstone& capstone(Architecture architecture, Detail detail) {
  switch (detail) {
    case Detail::none: return capstone<Detail::none>(architecture);
    case Detail::operands: return capstone<Detail::operands>(architecture);
    case Detail::arguments: break;
  }
  return capstone<Detail::arguments>(architecture);
}

}  // namespace

Disassembly::Disassembly(Architecture architecture, std::span<const std::byte> code, std::uint64_t address,
                         Detail detail)
    : handle_(capstone(architecture, detail).handle),
      instruction_(capstone(architecture, detail).instruction),
      code_(reinterpret_cast<const std::uint8_t*>(code.data())),
      left_(code.size()),
      address_(address) {}

const cs_insn* Disassembly::next() {
  if (instruction_ == nullptr || !cs_disasm_iter(handle_, &code_, &left_, &address_, instruction_)) return nullptr;
  return instruction_;
}

}  // namespace blastoff::intercept::patch
