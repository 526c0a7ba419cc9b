// Finding the branches and the beginnings of instructions in x86-64 code.
#include "intercept/patch/x86_64/branch_scan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "patched_code.h"

namespace blastoff::intercept::patch::x86_64 {
namespace {

constexpr std::size_t size = 400;
constexpr Range moved{4, 8};

/// Code of nops, with `hex` from `offset` on.
std::vector<std::byte> code_with(std::size_t offset, const std::string& hex) {
  std::vector<std::byte> code(size, std::byte{0x90});
  const std::vector<std::byte> bytes = from_hex(hex);
  std::memcpy(&code[offset], bytes.data(), bytes.size());
  return code;
}

/// A 4-byte displacement from the instruction that ends at `end` to the middle of the range.
std::string to_range(std::size_t end) {
  const auto displacement = static_cast<std::int32_t>(moved.begin + 1) - static_cast<std::int32_t>(end);
  return to_hex(std::as_bytes(std::span(&displacement, 1)), 1);
}

TEST(BranchScan, FindsBranchesNearAndFar) {
  for (const std::size_t at : {std::size_t{20}, std::size_t{100}, std::size_t{129}, std::size_t{300}}) {
    EXPECT_EQ(last_branch_into(moved, code_with(at, "e9 " + to_range(at + 5))), at + 4) << "jmp";
    EXPECT_EQ(last_branch_into(moved, code_with(at, "e8 " + to_range(at + 5))), at + 4) << "call";
    EXPECT_EQ(last_branch_into(moved, code_with(at, "0f 85 " + to_range(at + 6))), at + 5) << "jne";
    EXPECT_EQ(last_branch_into(moved, code_with(at, "2e 0f 85 " + to_range(at + 7))), at + 6) << "jne with a hint";
    EXPECT_EQ(last_branch_into(moved, code_with(at, "ff e0")), at + 1) << "jmp rax";
    EXPECT_EQ(last_branch_into(moved, code_with(at, "41 ff e4")), at + 2) << "jmp r12";
    EXPECT_EQ(last_branch_into(moved, code_with(at, "3e ff e0")), at + 2) << "notrack jmp rax";
    EXPECT_EQ(last_branch_into(moved, code_with(at, "3e 41 ff 24 c4")), at + 3) << "notrack jmp [r12 + 8 * rax]";
  }
  EXPECT_EQ(last_branch_into(moved, code_with(60, "75 c8")), 61U) << "jne, short";
  EXPECT_EQ(last_branch_into(moved, code_with(60, "90 90")), 0U);
}

TEST(BranchScan, BytesWithinOtherInstructionsAreNone) {
  for (const std::size_t at : {std::size_t{20}, std::size_t{100}, std::size_t{129}, std::size_t{300}}) {
    EXPECT_EQ(last_branch_into(moved, code_with(at, "81 ff e7 03 00 00")), 0U) << "cmp edi, 0x3e7";
    EXPECT_EQ(last_branch_into(moved, code_with(at, "3d ff e2 03 00")), 0U) << "cmp eax, 0x3e2ff";
    EXPECT_EQ(last_branch_into(moved, code_with(at, "48 b8 e9 " + to_range(at + 7) + " 00 00 00")), 0U) << "mov rax";
  }
}

TEST(BranchScan, WhatCannotBeReadMayHideABranch) {
  for (const std::size_t at : {std::size_t{20}, std::size_t{300}}) {
    // 06 is not an instruction, so the beginnings of instructions before it are not known.
    std::string unreadable;
    for (int i = 0; i < 7; ++i) unreadable += "06 ";
    EXPECT_EQ(last_branch_into(moved, code_with(at, unreadable + "81 ff e7 03 00 00")), at + 9);
  }
}

TEST(Boundary, IsCertainFromTheEntryOrFromFifteenOffsetsInARow) {
  for (const std::size_t at : {std::size_t{20}, std::size_t{128}, std::size_t{129}, std::size_t{300}}) {
    const auto code = code_with(at, "48 b8 01 02 03 04 05 06 07 08");  // mov rax
    EXPECT_EQ(instruction_boundary(code, at), Boundary::yes) << at;
    EXPECT_EQ(instruction_boundary(code, at + 4), Boundary::no) << at;
    EXPECT_EQ(instruction_boundary(code, at + 10), Boundary::yes) << at;
    EXPECT_EQ(instruction_boundary(code_with(at - 1, "06"), at), Boundary::unknown) << at;
  }
}

}  // namespace
}  // namespace blastoff::intercept::patch::x86_64
