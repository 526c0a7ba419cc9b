#include <gtest/gtest.h>

#include <string>

#include "patched_code.h"

namespace blastoff::intercept::patch {
namespace {

// call of a distant function; ret. Without a call a function counts as a leaf.
const std::string rest = " e8 00 00 00 01 c3";

std::string nops(int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += " 90";
  return result;
}

Patched patch_near(const std::string& code, const std::string& padding = "") {
  return patch(Architecture::x86_64, code, padding, near);
}
Patched patch_far(const std::string& code, const std::string& padding = "") {
  return patch(Architecture::x86_64, code, padding, far);
}

// The jumps to the hook, from an entry at ...1000.
const std::string near_jump = "e9 fb ff 0f 00";
const std::string far_jump = "ff 25 00 00 00 00 00 00 10 00 00 00 00 00";
// The jump back, after `moved` bytes of the function and `relocated` bytes of the trampoline.
std::string back_near(int moved, int relocated) {
  const int displacement = -0x200000 + moved - relocated - 5;
  return " e9 " + to_hex(std::as_bytes(std::span(&displacement, 1)), 1);
}
std::string back_far(int moved) {
  const std::uint64_t target = entry + static_cast<std::uint64_t>(moved);
  return " ff 25 00 00 00 00 " + to_hex(std::as_bytes(std::span(&target, 1)), 1);
}

TEST(RelocatorX86, AShortJumpWhereTheHookIsWithinReach) {
  const std::string moved =
      "55 "        // push rbp
      "48 89 e5 "  // mov rbp, rsp
      "41 57";     // push r15
  EXPECT_EQ(patch_near(moved + rest), (Patched{0, near_jump, moved + " e9 fb ff df ff", ""}));
  EXPECT_EQ(back_near(6, 6), " e9 fb ff df ff");
}

TEST(RelocatorX86, ALongJumpWhereItIsNot) {
  const std::string moved =
      "55 "                       // push rbp
      "48 89 e5 "                 // mov rbp, rsp
      "41 57 41 56 41 55 41 54 "  // push r15, r14, r13, r12
      "53 "                       // push rbx
      "50";                       // push rax
  EXPECT_EQ(patch_far(moved + rest), (Patched{0, far_jump, moved + " ff 25 00 00 00 00 0e 10 00 00 00 7f 00 00", ""}));
  EXPECT_EQ(back_far(14), " ff 25 00 00 00 00 0e 10 00 00 00 7f 00 00");
}

TEST(RelocatorX86, HookAndTrampolineMayBeAtDifferentDistances) {
  const std::string moved = "48 81 ec 00 01 00 00";  // sub rsp, 256
  EXPECT_EQ(patch(Architecture::x86_64, moved + rest, "", {near.hook, far.trampoline}),
            (Patched{0, near_jump, moved + back_far(7), ""}));
}

TEST(RelocatorX86, TheLandingPadStays) {
  const std::string moved = "48 81 ec 00 01 00 00";  // sub rsp, 256
  EXPECT_EQ(patch_near("f3 0f 1e fa " + moved + rest), (Patched{4, "e9 f7 ff 0f 00", moved + back_near(11, 7), ""}));
}

TEST(RelocatorX86, RipRelativeOperandsKeepTheirTargets) {
  // Moved up by 0x200000: that much less to the target.
  EXPECT_EQ(patch_near("48 8b 05 00 00 30 00" + rest),  // mov rax, [rip + 0x300000]
            (Patched{0, near_jump, "48 8b 05 00 00 10 00" + back_near(7, 7), ""}));
  EXPECT_EQ(patch_near("c5 fb 10 05 00 00 30 00" + rest),  // vmovsd xmm0, [rip + 0x300000]
            (Patched{0, near_jump, "c5 fb 10 05 00 00 10 00" + back_near(8, 8), ""}));
  EXPECT_EQ(patch_near("62 f1 f5 58 58 05 00 00 30 00" + rest),  // vaddpd zmm0, zmm1, [rip + 0x300000]{1to8}
            (Patched{0, near_jump, "62 f1 f5 58 58 05 00 00 10 00" + back_near(10, 10), ""}));
  EXPECT_EQ(patch_near("66 81 3d 00 00 30 00 34 12" + rest),  // cmp word [rip + 0x300000], 0x1234
            (Patched{0, near_jump, "66 81 3d 00 00 10 00 34 12" + back_near(9, 9), ""}));
  EXPECT_EQ(patch_near("ff 15 00 00 30 00 c3"),  // call [rip + 0x300000]
            (Patched{0, near_jump, "ff 15 00 00 10 00" + back_near(6, 6), ""}));
  // Behind an instruction that grows (jmp short to outside), the distance shrinks further: by 3.
  EXPECT_EQ(patch_near("74 60 48 8d 0d 00 00 30 00" + rest),  // je; lea rcx, [rip + 0x300000]
            (Patched{0, near_jump, "0f 84 5c 00 e0 ff 48 8d 0d fc ff 0f 00" + back_near(9, 13), ""}));
}

TEST(RelocatorX86, ALoadTooFarOffGetsItsAddressAsAConstant) {
  const std::string seven = " 48 81 ec 00 01 00 00";  // sub rsp, 256
  // The target is 7f0000001007.
  EXPECT_EQ(patch_far("48 8d 05 00 00 00 00" + seven + rest),  // lea rax, [rip]
            (Patched{0, far_jump, "48 b8 07 10 00 00 00 7f 00 00" + seven + back_far(14), ""}));
  EXPECT_EQ(patch_far("4c 8d 2d 00 00 00 00" + seven + rest),  // lea r13, [rip]
            (Patched{0, far_jump, "49 bd 07 10 00 00 00 7f 00 00" + seven + back_far(14), ""}));
  EXPECT_EQ(patch_far("44 8d 05 00 00 00 00" + seven + rest),  // lea r8d, [rip]: the lower half
            (Patched{0, far_jump, "41 b8 07 10 00 00" + seven + back_far(14), ""}));
  EXPECT_EQ(patch_far("48 8b 1d 00 00 00 00" + seven + rest),  // mov rbx, [rip]; [rbx + 0]
            (Patched{0, far_jump, "48 bb 07 10 00 00 00 7f 00 00 48 8b 5b 00" + seven + back_far(14), ""}));
  EXPECT_EQ(patch_far("44 8b 25 00 00 00 00" + seven + rest),  // mov r12d, [rip]; [r12 + 0] has a byte more
            (Patched{0, far_jump, "49 bc 07 10 00 00 00 7f 00 00 45 8b 64 24 00" + seven + back_far(14), ""}));
  EXPECT_EQ(patch_far("8b 05 01 00 00 00" + seven + " 90" + rest),  // mov eax, [rip + 1]; nop
            (Patched{0, far_jump, "48 b8 07 10 00 00 00 7f 00 00 8b 40 00" + seven + " 90" + back_far(14), ""}));
}

TEST(RelocatorX86, OtherOperandsTooFarOffAreAnObstacle) {
  const std::string seven = " 48 81 ec 00 01 00 00";                                        // sub rsp, 256
  EXPECT_EQ(patch_far("48 3b 05 00 00 00 00" + seven + rest), refused("out of reach"));     // cmp rax, [rip]
  EXPECT_EQ(patch_far("48 89 05 00 00 00 00" + seven + rest), refused("out of reach"));     // mov [rip], rax
  EXPECT_EQ(patch_far("48 8b 25 00 00 00 00" + seven + rest), refused("out of reach"));     // mov rsp, [rip]
  EXPECT_EQ(patch_far("64 8b 05 00 00 00 00" + seven + rest), refused("out of reach"));     // mov eax, fs:[rip]
  EXPECT_EQ(patch_far("66 8d 05 00 00 00 00" + seven + rest), refused("out of reach"));     // lea ax, [rip]
  EXPECT_EQ(patch_far("c5 fb 10 05 00 00 00 00" + seven + rest), refused("out of reach"));  // vmovsd xmm0, [rip]
}

TEST(RelocatorX86, ConditionalJumps) {
  const std::string seven = " 48 81 ec 00 01 00 00";  // sub rsp, 256
  // To 7f0000001062.
  EXPECT_EQ(patch_near("75 60" + seven + rest),  // jne
            (Patched{0, near_jump, "0f 85 5c 00 e0 ff" + seven + back_near(9, 13), ""}));
  EXPECT_EQ(patch_near("0f 8e 5c 00 00 00" + rest),  // jle
            (Patched{0, near_jump, "0f 8e 5c 00 e0 ff" + back_near(6, 6), ""}));
  // If the target is distant, the opposite condition skips a jump.
  EXPECT_EQ(
      patch_far("75 60" + seven + " 90 90 90 90 90" + rest),
      (Patched{0, far_jump,
               "74 0e ff 25 00 00 00 00 62 10 00 00 00 7f 00 00" + seven + " 90 90 90 90 90" + back_far(14), ""}));
  // A branch hint for old processors is omitted.
  EXPECT_EQ(patch_near("3e 75 5f" + seven + rest),
            (Patched{0, near_jump, "0f 85 5c 00 e0 ff" + seven + back_near(10, 13), ""}));
}

TEST(RelocatorX86, CountedJumps) {
  const std::string seven = " 48 81 ec 00 01 00 00";  // sub rsp, 256
  // jrcxz 7f0000001062: taken, it hops over a jmp short to a jump.
  EXPECT_EQ(patch_near("e3 60" + seven + rest),
            (Patched{0, near_jump, "e3 02 eb 05 e9 59 00 e0 ff" + seven + back_near(9, 16), ""}));
  EXPECT_EQ(patch_near("67 e3 5f" + seven + rest),  // jecxz
            (Patched{0, near_jump, "67 e3 02 eb 05 e9 58 00 e0 ff" + seven + back_near(10, 17), ""}));
  EXPECT_EQ(patch_far("e2 60" + seven + " 90 90 90 90 90" + rest),  // loop
            (Patched{0, far_jump,
                     "e2 02 eb 0e ff 25 00 00 00 00 62 10 00 00 00 7f 00 00" + seven + " 90 90 90 90 90" + back_far(14),
                     ""}));
}

TEST(RelocatorX86, Calls) {
  const std::string fentry = "e8 00 00 30 00";  // call 7f0000301005, of the profiler
  EXPECT_EQ(patch_near(fentry + " c3"), (Patched{0, near_jump, "e8 00 00 10 00" + back_near(5, 5), ""}));
  const std::string nine = " 48 8d a4 24 00 ff ff ff 50";  // lea rsp, [rsp - 256]; push rax
  EXPECT_EQ(patch_far(fentry + nine + " c3"),
            (Patched{0, far_jump, "ff 15 02 00 00 00 eb 08 05 10 30 00 00 7f 00 00" + nine + back_far(14), ""}));
}

TEST(RelocatorX86, AFunctionThatEndsInTheMovedBytesNeedsNoWayBack) {
  EXPECT_EQ(patch_near("e9 00 00 30 00"), (Patched{0, near_jump, "e9 00 00 10 00", ""}));  // a tail call
  EXPECT_EQ(patch_near("ff 25 00 00 30 00"), (Patched{0, near_jump, "ff 25 00 00 10 00", ""}));
  EXPECT_EQ(patch_near("f2 e9 ff ff 2f 00"), (Patched{0, near_jump, "e9 00 00 10 00", ""}));  // bnd jmp
  EXPECT_EQ(patch_far("e8 00 00 00 01 c3", "cc cc cc cc cc cc cc cc"),                        // call; ret
            (Patched{0, far_jump, "ff 15 02 00 00 00 eb 08 05 10 00 01 00 7f 00 00 c3", ""}));
}

TEST(RelocatorX86, PaddingBehindAShortFunctionMayBeUsed) {
  // jmp short 7f0000001062
  const Patched patched{0, near_jump, "e9 5d 00 e0 ff", ""};
  EXPECT_EQ(patch_near("eb 60", "90 90 90"), patched);
  EXPECT_EQ(patch_near("eb 60", "cc cc cc cc"), patched);
  EXPECT_EQ(patch_near("eb 60", "00 00 00"), patched);
  EXPECT_EQ(patch_near("eb 60", "0f 1f 00"), patched);
  EXPECT_EQ(patch_near("eb 60", "66 90 0f 1f 44 00 00 55"), patched);
  EXPECT_EQ(patch_near("eb 60", "66 2e 0f 1f 84 00 00 00 00 00"), patched);
}

TEST(RelocatorX86, WhatIsNoPaddingMayNot) {
  EXPECT_EQ(patch_near("eb 60", "90 90"), refused("too short"));
  EXPECT_EQ(patch_near("eb 60", "90 90 55"), refused("too short"));     // push rbp
  EXPECT_EQ(patch_near("eb 60", "f3 0f 1e fa"), refused("too short"));  // endbr64: somebody's entry
  EXPECT_EQ(patch_near("eb 60", "00 00 c3"), refused("too short"));
  EXPECT_EQ(patch_near("31 c0", "90 90 90 90"), refused("too short"));  // it goes on behind its end
  EXPECT_EQ(patch_far("e8 00 00 00 01 c3", "90 90 90 90 90 90 90"), refused("too short"));
  EXPECT_EQ(patch_near(""), refused("too short"));
}

TEST(RelocatorX86, BranchesBack) {
  const std::string moved = "48 89 f8 48 89 f1";  // mov rax, rdi; mov rcx, rsi (at 3)
  EXPECT_EQ(patch_near(moved + " 75 fb" + rest), refused("branch back into the moved instructions"));  // jne 3
  EXPECT_EQ(patch_near(moved + " e2 fb" + rest), refused("branch back into the moved instructions"));  // loop 3
  EXPECT_EQ(patch_near(moved + " 0f 84 f7 ff ff ff" + rest), refused("branch back into the moved instructions"));
  EXPECT_EQ(patch_near(moved + rest + " e9 f2 ff ff ff"), refused("branch back into the moved instructions"));
  EXPECT_EQ(patch_near(moved + " e8 f8 ff ff ff" + rest), refused("branch back into the moved instructions"));
  // From within: mov rax, rdi; je over the next one.
  EXPECT_EQ(patch_far("48 89 f8 74 03 48 89 f1 48 81 ec 00 01 00 00" + rest),
            refused("branch back into the moved instructions"));
  // From afar.
  EXPECT_EQ(patch_near(moved + nops(1000) + " e9 10 fc ff ff" + rest),
            refused("branch back into the moved instructions"));
}

TEST(RelocatorX86, BranchesToTheJumpOrBehindTheMovedBytesAreHarmless) {
  const std::string moved = "48 89 f8 48 89 f1";  // mov rax, rdi; mov rcx, rsi
  const Patched patched{0, near_jump, moved + back_near(6, 6), ""};
  EXPECT_EQ(patch_near(moved + " 75 f8" + rest), patched);         // jne 0
  EXPECT_EQ(patch_near(moved + " 75 fe" + rest), patched);         // jne 6
  EXPECT_EQ(patch_near("f3 0f 1e fa " + moved + " 75 f8" + rest),  // jne 4, behind the landing pad
            (Patched{4, "e9 f7 ff 0f 00", moved + back_near(10, 6), ""}));
  EXPECT_EQ(patch_near("48 81 ec 00 01 00 00 75 fc" + rest),  // jne 5: the middle of an instruction that moves whole
            (Patched{0, near_jump, "48 81 ec 00 01 00 00" + back_near(7, 7), ""}));
}

TEST(RelocatorX86, WhatOnlyLooksLikeABranchBackIsNone) {
  const std::string moved = "48 89 f8 48 89 f1";  // mov rax, rdi; mov rcx, rsi
  const Patched patched{0, near_jump, moved + back_near(6, 6), ""};
  EXPECT_EQ(patch_near(moved + " 66 b9 75 f9" + rest), patched);                    // mov cx, 0xf975
  EXPECT_EQ(patch_near(moved + " 48 b9 e9 f6 ff ff ff 00 00 00" + rest), patched);  // movabs rcx, 0xfffffff6e9
  EXPECT_EQ(patch_near(moved + " 66 b9 ff e0" + rest), patched);                    // mov cx, 0xe0ff: jmp rax
}

TEST(RelocatorX86, JumpTables) {
  const std::string moved = "48 89 f8 48 89 f1";                                         // mov rax, rdi; mov rcx, rsi
  EXPECT_EQ(patch_near(moved + rest + " ff 24 c5 00 10 40 00"), refused("jump table"));  // jmp [rax * 8 + 0x401000]
  EXPECT_EQ(patch_near(moved + rest + " 48 63 04 81 48 01 c8 3e ff e0"),  // movsxd rax, [rcx + rax * 4]; add; jmp rax
            refused("jump table"));
  EXPECT_EQ(patch_near(moved + rest + " 48 8b 45 f8 ff e0"), refused("jump table"));  // mov rax, [rbp - 8]; jmp rax
  // Where a single instruction moves, no jump can lead into the moved code.
  EXPECT_EQ(patch_near("48 81 ec 00 01 00 00" + rest + " ff 24 c5 00 10 40 00"),
            (Patched{0, near_jump, "48 81 ec 00 01 00 00" + back_near(7, 7), ""}));
}

TEST(RelocatorX86, TailCallsThroughPointersAreNoJumpTables) {
  const std::string moved = "48 89 f8 48 89 f1";  // mov rax, rdi; mov rcx, rsi
  const Patched patched{0, near_jump, moved + back_near(6, 6), ""};
  EXPECT_EQ(patch_near(moved + " ff 60 18"), patched);                 // jmp [rax + 24]
  EXPECT_EQ(patch_near(moved + " ff 25 00 00 30 00"), patched);        // jmp [rip + 0x300000]
  EXPECT_EQ(patch_near(moved + " 4c 8b 58 18 5b 41 ff e3"), patched);  // mov r11, [rax + 24]; pop rbx; jmp r11
}

TEST(RelocatorX86, WhatCannotBeMoved) {
  const std::string seven = " 48 81 ec 00 01 00 00";                                             // sub rsp, 256
  EXPECT_EQ(patch_near("06" + seven + rest), refused("unknown instruction"));                    // none since 64 bits
  EXPECT_EQ(patch_near("c7 f8 00 00 00 00" + seven + rest), refused("unknown instruction"));     // xbegin
  EXPECT_EQ(patch_near("66 e9 00 00 00 00" + seven + rest), refused("unknown instruction"));     // 16 bits or 32?
  EXPECT_EQ(patch_near("67 8b 05 00 00 00 00" + seven + rest), refused("unknown instruction"));  // mov eax, [eip]
  EXPECT_EQ(patch_near("48 81 ec 00"), refused("unknown instruction"));                          // cut short
}

TEST(RelocatorX86, AnUnknownInstructionFurtherOnHidesWhatFollows) {
  const std::string moved = "48 89 f8 48 89 f1";                                      // mov rax, rdi; mov rcx, rsi
  EXPECT_EQ(patch_near(moved + " 06 75 fa" + rest), refused("unknown instruction"));  // a branch back behind it?
  EXPECT_EQ(patch_near(moved + " 06 c3"), refused("unknown instruction"));            // a call behind it?
}

TEST(RelocatorX86, LeafFunctions) {
  const std::string moved = "48 89 f8 48 89 f1";  // mov rax, rdi; mov rcx, rsi
  const Patched patched{0, near_jump, moved + back_near(6, 6), ""};
  EXPECT_EQ(patch_near(moved + " c3"), refused("leaf function"));
  EXPECT_EQ(patch_near(moved + " 74 01 90 c3"), refused("leaf function"));        // je within
  EXPECT_EQ(patch_near(moved + " e8 f5 ff ff ff c3"), refused("leaf function"));  // call of itself
  EXPECT_EQ(patch_near(moved + " ba e8 00 00 01 c3"), refused("leaf function"));  // mov edx, 0x010000e8
  EXPECT_EQ(patch_near(moved + " ff 50 18 c3"), patched);                         // call [rax + 24]
  EXPECT_EQ(patch_near(moved + " ff d0 c3"), patched);                            // call rax
  EXPECT_EQ(patch_near(moved + " e9 00 00 00 01"), patched);                      // a tail call
  EXPECT_EQ(patch_near(moved + " 0f 84 00 00 00 01 c3"), patched);                // a conditional one
}

TEST(RelocatorX86, ACallIsFoundBehindWhatLooksLikeCalls) {
  const std::string moved = "48 89 f8 48 89 f1";  // mov rax, rdi; mov rcx, rsi
  const Patched patched{0, near_jump, moved + back_near(6, 6), ""};
  std::string constants;
  for (int i = 0; i < 40; ++i) constants += " 48 ba e8 01 02 03 00 00 00 00";  // movabs rdx, 0x030201e8
  EXPECT_EQ(patch_near(moved + constants + " c3"), refused("leaf function"));
  // movabs rdx, 0x030201e89090: two of the offsets before the false call are nops.
  EXPECT_EQ(patch_near(moved + " 48 ba 90 90 e8 01 02 03 00 00 c3"), refused("leaf function"));
  // movabs rdx, 0x030201e800 after many nops: no offset leads there.
  EXPECT_EQ(patch_near(moved + nops(20) + " 48 ba 00 e8 01 02 03 00 00 00 c3"), refused("leaf function"));
  EXPECT_EQ(patch_near(moved + constants + rest), patched);
}

TEST(RelocatorX86, FunctionsThatCallTheirObjectOnlyAreLeaves) {
  const std::string moved = "48 89 f8 48 89 f1";  // mov rax, rdi; mov rcx, rsi
  const Patched patched{0, near_jump, moved + back_near(6, 6), ""};
  const auto patch_beside = [&](const std::string& others) {
    return patch(Architecture::x86_64, moved + " e8 01 00 00 00 c3", "", near, others);  // calls `others`
  };
  EXPECT_EQ(patch_beside("c3"), refused("leaf function"));
  EXPECT_EQ(patch_beside("75 fe c3"), refused("leaf function"));                        // branches to itself
  EXPECT_EQ(patch_beside("e8 00 00 00 00 c3"), refused("leaf function"));               // calls the ret behind it
  EXPECT_EQ(patch_beside("e8 ef ff ff ff c3"), refused("leaf function"));               // calls back
  EXPECT_EQ(patch_beside("ff 20 90"), patched);                                         // jmp [rax]
  EXPECT_EQ(patch_beside("ff 24 c8 90"), refused("leaf function"));                     // jmp [rax + 8 * rcx]
  EXPECT_EQ(patch_beside("48 8d 4f 08 ff e1 90"), refused("leaf function"));            // lea; jmp rcx
  EXPECT_EQ(patch_beside("ff d0 c3"), patched);                                         // call rax
  EXPECT_EQ(patch_beside("75 03 c3 90 90 e8 00 00 00 00 e8 00 10 00 00 c3"), patched);  // calls another object at last
  EXPECT_EQ(patch_beside("f3 0f 1e fa f2 ff 25 00 10 00 00 90"), patched);              // endbr64; bnd jmp [rip + ...]
  EXPECT_EQ(patch_beside("06"), refused("leaf function"));                              // unknown
  // A tail call.
  EXPECT_EQ(patch(Architecture::x86_64, moved + " e9 00 00 00 00", "", near, "c3"), refused("leaf function"));
  EXPECT_EQ(patch(Architecture::x86_64, moved + " e9 00 00 00 00", "", near, "ff d0 c3"), patched);
}

// The functions of a library call the same few others.
TEST(RelocatorX86, WhatAFunctionOfTheObjectCallsIsReadOnce) {
  const std::vector<std::byte> bytes = from_hex("48 89 f8 48 89 f1 e8 01 00 00 00 c3 ff d0 c3");  // calls `call rax`
  constexpr std::size_t size = 12;
  CallsOfOthers known;
  FunctionCode function{std::span(bytes).first(size), 0, entry, {bytes, entry}, false, &known};
  const auto can_patch = [&] {
    return relocator(Architecture::x86_64).patch(function, near.hook, near.trampoline).has_value();
  };
  EXPECT_TRUE(can_patch());
  EXPECT_EQ(known, (CallsOfOthers{{entry + size, true}}));
  std::vector<std::byte> returning = bytes;
  returning[size] = std::byte{0xc3};  // it would not be found to call anything
  function.object.bytes = returning;
  EXPECT_TRUE(can_patch());
  known.clear();
  EXPECT_FALSE(can_patch());
  EXPECT_EQ(known, (CallsOfOthers{{entry + size, false}}));
}

TEST(RelocatorX86, CallsOfOtherObjectsNeedNoDecoding) {
  const std::string moved = "48 89 f8 48 89 f1";  // mov rax, rdi; mov rcx, rsi
  const Patched patched{0, near_jump, moved + back_near(6, 6), ""};
  const std::string unknown = " 06";
  const auto patch_beside = [&](const std::string& others) {
    return patch(Architecture::x86_64, moved + unknown + " e8 01 00 00 00 c3", "", near, others);
  };
  for (const char* const pads : {"", "f3 0f 1e fa ", "f2 ", "f3 0f 1e fa f2 "})
    EXPECT_EQ(patch_beside(std::string(pads) + "ff 25 00 10 00 00 90"), patched) << pads;
  EXPECT_EQ(patch_beside("ff d0 c3"), refused("unknown instruction"));
  // Through a table of functions whose address is in rax: fields at 24, 0x2d8, 8; at a negative, odd or far place.
  const std::string two = " ff 90 18 00 00 00 ff 93 d8 02 00 00";
  EXPECT_EQ(patch_near(moved + unknown + two + " ff 90 08 00 00 00 c3"), patched);
  for (const char* const field : {"f8 ff ff ff", "d9 02 00 00", "00 00 01 00", "00 00 00 00"})
    EXPECT_EQ(patch_near(moved + unknown + two + " ff 90 " + field + " c3"), refused("unknown instruction")) << field;
}

TEST(RelocatorX86, TheLongestTrampoline) {
  // Seven counted jumps of together 14 bytes become 18 bytes each, and the jump back takes 14. patch() compares this
  // with the limit.
  std::string jumps = "e2 60";
  for (int i = 0; i < 6; ++i) jumps += " e2 60";
  const Patched patched = patch_far(jumps + rest);
  EXPECT_EQ(patched.obstacle, "");
  EXPECT_EQ(patched.trampoline.size(), 3 * (7 * 18 + 14) - 1);
}

// endbr64; push rbp; push r15; sub rsp, 24.
const std::string pushing = "f3 0f 1e fa 55 41 57 48 83 ec 18";

TEST(RelocatorX86, InARunningFunctionAJumpLeadsWhereTheBytesBehindItsInstructionSay) {
  const std::vector<std::byte> bytes = from_hex(pushing + rest);
  const std::vector<JumpPlace> places = relocator(Architecture::x86_64).jump_places({bytes, 0, entry});
  ASSERT_EQ(places.size(), 3U);
  const auto target = [](std::size_t offset, std::uint32_t displacement) {
    return entry + offset + 5 + static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(displacement)});
  };
  EXPECT_EQ(places[0].offset, 4U);  // one byte may change
  EXPECT_EQ(to_hex(places[0].undo, 1), "");
  EXPECT_EQ(places[0].first_target, target(4, 0x83485741));
  EXPECT_EQ(places[0].last_target, target(4, 0x83485741));
  EXPECT_EQ(places[1].offset, 5U);  // two
  EXPECT_EQ(to_hex(places[1].undo, 1), "5d");
  EXPECT_EQ(places[1].first_target, target(5, 0xec834800));
  EXPECT_EQ(places[1].last_target, target(5, 0xec8348ff));
  EXPECT_EQ(places[2].offset, 7U);  // one of four: the others lie in the next word
  EXPECT_EQ(to_hex(places[2].undo, 1), "41 5f 5d");
  EXPECT_EQ(places[2].first_target, places[2].last_target);
}

TEST(RelocatorX86, InARunningFunctionOneInstructionChanges) {
  const std::vector<std::byte> bytes = from_hex(pushing + rest);
  const FunctionCode function{bytes, 0, entry};
  const JumpPlace place = relocator(Architecture::x86_64).jump_places(function)[1];
  const auto patch =
      relocator(Architecture::x86_64).patch_running(function, place, place.first_target + 0x42, near.trampoline);
  ASSERT_TRUE(patch);
  EXPECT_EQ(patch->offset, 5U);
  EXPECT_EQ(to_hex(patch->jump, 1), "e9 42");
  EXPECT_EQ(to_hex(patch->trampoline, 1), "55 41 57" + back_near(7, 3));
  EXPECT_EQ(to_hex(relocator(Architecture::x86_64).undo_and_jump(place, entry + 0x1000, entry), 1),
            "5d e9 fa ef ff ff");
}

TEST(RelocatorX86, InARunningFunctionALongInstructionHasAnyJump) {
  const std::vector<std::byte> bytes = from_hex("48 81 ec 00 01 00 00" + rest);  // sub rsp, 256
  const std::vector<JumpPlace> places = relocator(Architecture::x86_64).jump_places({bytes, 0, entry});
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(places[0].first_target, entry + 5 - 0x8000'0000U);
  EXPECT_EQ(places[0].last_target, entry + 5 + 0x7fff'ffffU);
}

TEST(RelocatorX86, AnEmptyFunction) {
  const auto patched = [](const std::string& code) {
    return relocator(Architecture::x86_64).patch_empty(from_hex(code), entry, near.hook);
  };
  const auto patch = patched("c3 66 66 2e 0f 1f 84 00 00 00 00 00 0f 1f 40 00");
  ASSERT_TRUE(patch);
  EXPECT_EQ(to_hex(patch->jump, 1), near_jump);
  EXPECT_EQ(patched("f3 0f 1e fa c3 66 66 2e 0f 1f 84 00 00 00 00 00")->offset, 4U);
  for (const std::string filler :
       {"cc cc cc cc", "90 90 90 90", "66 90 66 90", "0f 1f 00 90", "0f 1f 40 00", "0f 1f 44 00 00",
        "66 0f 1f 44 00 00", "0f 1f 80 00 00 00 00", "66 0f 1f 84 00 00 00 00 00"})
    EXPECT_TRUE(patched("c3 " + filler + " 55 41 57 48 89 e5")) << filler;
  for (const std::string code : {"0f 1f 00 55 41 57", "66 66 55 41 57", "cc cc cc 55"})
    EXPECT_FALSE(patched("c3 " + code + " 55 41 57 48 89 e5 41 57")) << code;
  EXPECT_EQ(patched("c3 55 48 89 e5 41 57 90 90 90 90 90 90 90 90 90").error(), Obstacle::too_short);
  EXPECT_EQ(patched("cc 66 66 2e 0f 1f 84 00 00 00 00 00 0f 1f 40 00").error(), Obstacle::too_short);
}

}  // namespace
}  // namespace blastoff::intercept::patch
