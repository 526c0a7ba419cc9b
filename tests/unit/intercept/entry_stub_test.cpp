#include "intercept/patch/entry_stub.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>

namespace blastoff::intercept {
namespace {

constexpr std::uint64_t context = 0x1122334455667788, target = 0x99aabbccddeeff00;
const std::string context_bytes = " 88 77 66 55 44 33 22 11", target_bytes = " 00 ff ee dd cc bb aa 99";

std::string stub(patch::Architecture architecture) {
  std::string text;
  for (const std::byte byte : patch::entry_stub(architecture, context, target))
    text += fmt::format("{}{:02x}", text.empty() ? "" : " ", std::to_integer<unsigned>(byte));
  return text;
}

TEST(EntryStub, PassesItsContextInR11) {
  EXPECT_EQ(stub(patch::Architecture::x86_64),
            "f3 0f 1e fa"  // endbr64
            " 49 bb" +
                context_bytes +         // movabs r11, context
                " ff 25 00 00 00 00" +  // jmp [rip]
                target_bytes);
}

TEST(EntryStub, PassesItsContextInX17) {
  EXPECT_EQ(stub(patch::Architecture::aarch64),
            "91 00 00 58"   // ldr x17, .+16
            " b0 00 00 58"  // ldr x16, .+20
            " 00 02 1f d6"  // br x16
            " 1f 20 03 d5" +
                context_bytes + target_bytes);  // nop
}

TEST(EntryStub, FitsItsPlace) {
  for (const auto architecture : {patch::Architecture::x86_64, patch::Architecture::aarch64})
    EXPECT_LE(patch::entry_stub(architecture, context, target).size(), patch::longest_entry_stub);
}

}  // namespace
}  // namespace blastoff::intercept
