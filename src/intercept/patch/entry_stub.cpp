#include "intercept/patch/entry_stub.h"

#include <cstring>

namespace blastoff::intercept::patch {
namespace {

template <class Integer>
void append(std::vector<std::byte>& code, Integer value) {
  const std::size_t end = code.size();
  code.resize(end + sizeof value);
  std::memcpy(&code[end], &value, sizeof value);
}

std::vector<std::byte> x86_64_stub(std::uint64_t context, std::uint64_t target) {
  std::vector<std::byte> code;
  append(code, std::uint32_t{0xfa1e0ff3});  // endbr64
  append(code, std::uint16_t{0xbb49});      // mov r11, context
  append(code, context);
  append(code, std::uint16_t{0x25ff});  // jmp [rip + 0]
  append(code, std::uint32_t{0});
  append(code, target);
  return code;
}

std::vector<std::byte> aarch64_stub(std::uint64_t context, std::uint64_t target) {
  std::vector<std::byte> code;
  append(code, std::uint32_t{0x58000091});  // ldr x17, context
  append(code, std::uint32_t{0x580000b0});  // ldr x16, target
  append(code, std::uint32_t{0xd61f0200});  // br x16
  append(code, std::uint32_t{0xd503201f});  // nop
  append(code, context);
  append(code, target);
  return code;
}

}  // namespace

std::vector<std::byte> entry_stub(Architecture architecture, std::uint64_t context, std::uint64_t target) {
  return architecture == Architecture::x86_64 ? x86_64_stub(context, target) : aarch64_stub(context, target);
}

}  // namespace blastoff::intercept::patch
