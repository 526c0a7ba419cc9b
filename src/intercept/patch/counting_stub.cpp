#include "intercept/patch/counting_stub.h"

#include <utility>

#include "intercept/patch/code_buffer.h"

namespace blastoff::intercept::patch {
namespace {

std::vector<std::byte> x86_64_stub(std::uint64_t counter) {
  CodeBuffer code(0);
  code.put_bytes({0x41, 0x53});  // push r11
  code.put_bytes({0x41, 0x52});  // push r10
  code.put_bytes({0x49, 0xbb});  // mov r11, counter
  code.put_value(counter);
  code.put_bytes({0x4d, 0x8b, 0x13});        // mov r10, [r11]
  code.put_bytes({0x4d, 0x8d, 0x52, 0x01});  // lea r10, [r10 + 1]
  code.put_bytes({0x4d, 0x89, 0x13});        // mov [r11], r10
  code.put_bytes({0x41, 0x5a});              // pop r10
  code.put_bytes({0x41, 0x5b});              // pop r11
  code.put_bytes({0xc3});                    // ret
  return std::move(code).take();
}

std::vector<std::byte> aarch64_stub(std::uint64_t counter) {
  CodeBuffer code(0);
  code.put_value(std::uint32_t{0xa9bf47f0});  // stp x16, x17, [sp, #-16]!
  code.put_value(std::uint32_t{0x580000d0});  // ldr x16, counter
  code.put_value(std::uint32_t{0xf9400211});  // ldr x17, [x16]
  code.put_value(std::uint32_t{0x91000631});  // add x17, x17, #1
  code.put_value(std::uint32_t{0xc89ffe11});  // stlr x17, [x16]
  code.put_value(std::uint32_t{0xa8c147f0});  // ldp x16, x17, [sp], #16
  code.put_value(std::uint32_t{0xd65f03c0});  // ret
  code.put_value(counter);
  return std::move(code).take();
}

}  // namespace

std::vector<std::byte> counting_stub(Architecture architecture, std::uint64_t counter) {
  return architecture == Architecture::x86_64 ? x86_64_stub(counter) : aarch64_stub(counter);
}

}  // namespace blastoff::intercept::patch
