#include <gtest/gtest.h>

#include <string>

#include "patched_code.h"

namespace blastoff::intercept::patch {
namespace {

// bl to a distant function; ret. Without a call a function counts as a leaf.
const std::string rest = " 94100000 d65f03c0";

Patched patch_near(const std::string& code, const std::string& padding = "") {
  return patch(Architecture::aarch64, code, padding, near);
}
Patched patch_far(const std::string& code, const std::string& padding = "") {
  return patch(Architecture::aarch64, code, padding, far);
}

// The jumps to the hook, from an entry at ...1000.
const std::string near_jump = "14040000";                            // b
const std::string far_jump = "58000051 d61f0220 00100000 00000000";  // ldr x17, hook; br x17; hook
// The jump back to `entry` + `moved`, after `relocated` instructions of the trampoline.
std::string back_near(int moved, int relocated) {
  const unsigned distance = (-0x200000 + moved - 4 * relocated) / 4;
  return fmt::format(" {:08x}", 0x14000000U | (distance & 0x3ffffffU));
}
const std::string back_far = " 58000051 d61f0220 00001010 00007f00";

const std::string prologue = "a9bf7bfd";                         // stp x29, x30, [sp, -16]!
const std::string four = "a9bf7bfd 910003fd a9bf53f3 aa0003f3";  // stp; mov x29, sp; stp x19, x20; mov x19, x0

TEST(RelocatorAarch64, AShortJumpWhereTheHookIsWithinReach) {
  EXPECT_EQ(patch_near(prologue + rest), (Patched{0, near_jump, prologue + " 17f80000", ""}));
  EXPECT_EQ(back_near(4, 1), " 17f80000");
}

TEST(RelocatorAarch64, ALongJumpWhereItIsNot) {
  EXPECT_EQ(patch_far(four + rest), (Patched{0, far_jump, four + " 58000051 d61f0220 00001010 00007f00", ""}));
}

TEST(RelocatorAarch64, HookAndTrampolineMayBeAtDifferentDistances) {
  EXPECT_EQ(patch(Architecture::aarch64, prologue + rest, "", {near.hook, far.trampoline}),
            (Patched{0, near_jump, prologue + " 58000051 d61f0220 00001004 00007f00", ""}));
}

TEST(RelocatorAarch64, TheLandingPadStays) {
  EXPECT_EQ(patch_near("d503245f " + prologue + rest),  // bti c
            (Patched{4, "1403ffff", prologue + back_near(8, 1), ""}));
  EXPECT_EQ(patch_near("d50324df " + prologue + rest),  // bti jc
            (Patched{4, "1403ffff", prologue + back_near(8, 1), ""}));
  // Where landing pads are checked, ret may go to any instruction, but br may not.
  EXPECT_EQ(patch_far("d503245f " + four + rest),
            (Patched{4, far_jump, four + " 58000051 d65f0220 00001014 00007f00", ""}));
}

TEST(RelocatorAarch64, PaciaspIsALandingPadToo) {
  // It moves, since the hook needs the return address unsigned, and bti c takes its place.
  EXPECT_EQ(patch_near("d503233f " + prologue + rest),  // paciasp
            (Patched{0, "d503245f 1403ffff", "d503233f " + prologue + back_near(8, 2), ""}));
  EXPECT_EQ(patch_near("d503237f " + prologue + rest),  // pacibsp
            (Patched{0, "d503245f 1403ffff", "d503237f " + prologue + back_near(8, 2), ""}));
  EXPECT_EQ(patch_far("d503233f " + four + rest),
            (Patched{0, "d503245f " + far_jump, "d503233f " + four + " 58000051 d65f0220 00001014 00007f00", ""}));
  // A branch to what follows it leads into the moved instructions.
  EXPECT_EQ(patch_near("d503233f " + prologue + " 54ffffe0" + rest),  // b.eq to 4
            refused("branch back into the moved instructions"));
  // After bti it is an ordinary instruction.
  EXPECT_EQ(patch_near("d503245f d503233f" + rest), (Patched{4, "1403ffff", "d503233f" + back_near(8, 1), ""}));
}

TEST(RelocatorAarch64, Addresses) {
  // adr x1, 7f0000001008: adrp x1; add x1, x1, 8
  EXPECT_EQ(patch_near("10000041" + rest), (Patched{0, near_jump, "90fff001 91002021" + back_near(4, 2), ""}));
  // adr x2, 7f0000001003
  EXPECT_EQ(patch_near("70000002" + rest), (Patched{0, near_jump, "90fff002 91000c42" + back_near(4, 2), ""}));
  // adrp x3, 7f0000402000
  EXPECT_EQ(patch_near("b0002003" + rest), (Patched{0, near_jump, "b0001003" + back_near(4, 1), ""}));
  // adrp x3, 7effffffe000
  EXPECT_EQ(patch_near("b0ffffe3" + rest), (Patched{0, near_jump, "b0ffefe3" + back_near(4, 1), ""}));
  // adr xzr: nothing
  EXPECT_EQ(patch_near("1000005f" + rest), (Patched{0, near_jump, back_near(4, 0).substr(1), ""}));
}

TEST(RelocatorAarch64, AddressesTooFarOffBecomeConstants) {
  const std::string three = " 910003fd a9bf53f3 aa0003f3";
  // adr x1, 7f0000001008: movz x1, 0x1008; movk x1, 0x7f00, lsl 32
  EXPECT_EQ(patch_far("10000041" + three + rest), (Patched{0, far_jump, "d2820101 f2cfe001" + three + back_far, ""}));
  // adrp x3, 7f0000402000: movz x3, 0x2000; movk x3, 0x40, lsl 16; movk x3, 0x7f00, lsl 32
  EXPECT_EQ(patch_far("b0002003" + three + rest),
            (Patched{0, far_jump, "d2840003 f2a00803 f2cfe003" + three + back_far, ""}));
}

TEST(RelocatorAarch64, LoadsOfWhatLiesInTheCode) {
  // Each loads from 7f0000001008. A general register holds the address itself; for other registers x17 holds it.
  const auto expected = [](const std::string& trampoline) {
    return Patched{0, near_jump, trampoline + back_near(4, 3), ""};
  };
  EXPECT_EQ(patch_near("18000045" + rest), expected("90fff005 910020a5 b94000a5"));  // ldr w5
  EXPECT_EQ(patch_near("58000045" + rest), expected("90fff005 910020a5 f94000a5"));  // ldr x5
  EXPECT_EQ(patch_near("98000045" + rest), expected("90fff005 910020a5 b98000a5"));  // ldrsw x5
  EXPECT_EQ(patch_near("d8000040" + rest), expected("90fff011 91002231 f9800220"));  // prfm pldl1keep
  EXPECT_EQ(patch_near("1c000045" + rest), expected("90fff011 91002231 bd400225"));  // ldr s5
  EXPECT_EQ(patch_near("5c000045" + rest), expected("90fff011 91002231 fd400225"));  // ldr d5
  EXPECT_EQ(patch_near("9c000045" + rest), expected("90fff011 91002231 3dc00225"));  // ldr q5
  EXPECT_EQ(patch_near("5800005f" + rest), expected("90fff011 91002231 f940023f"));  // ldr xzr
}

TEST(RelocatorAarch64, Jumps) {
  EXPECT_EQ(patch_near("14100000"), (Patched{0, near_jump, "14080000", ""}));  // b 7f0000401000
  const std::string three = "910003fd a9bf53f3 aa0003f3 ";
  EXPECT_EQ(patch_far(three + "14100000"),  // b 7f000040100c
            (Patched{0, far_jump, three + "58000051 d61f0220 0040100c 00007f00", ""}));
}

TEST(RelocatorAarch64, Calls) {
  EXPECT_EQ(patch_near("94100000 d65f03c0"), (Patched{0, near_jump, "94080000" + back_near(4, 1), ""}));
  const std::string three = "910003fd a9bf53f3 aa0003f3 ";
  EXPECT_EQ(patch_far(three + "94100000 d65f03c0"),  // ldr x17; blr x17; b over the address
            (Patched{0, far_jump, three + "58000071 d63f0220 14000003 0040100c 00007f00" + back_far, ""}));
  // Where landing pads are checked: ldr x17; adr x30, behind the address; ret x17
  EXPECT_EQ(patch_far("d503245f " + three + "94100000 d65f03c0"),
            (Patched{4, far_jump,
                     three + "58000071 1000009e d65f0220 00401010 00007f00 58000051 d65f0220 00001014 00007f00", ""}));
}

TEST(RelocatorAarch64, ConditionalJumps) {
  // Each to 7f0000001040, too far from the trampoline: the opposite skips a b.
  const auto expected = [](const std::string& opposite) {
    return Patched{0, near_jump, opposite + " 17f8000f" + back_near(4, 2), ""};
  };
  EXPECT_EQ(patch_near("54000200" + rest), expected("54000041"));  // b.eq
  EXPECT_EQ(patch_near("5400020b" + rest), expected("5400004a"));  // b.lt
  EXPECT_EQ(patch_near("34000200" + rest), expected("35000040"));  // cbz w0
  EXPECT_EQ(patch_near("b5000201" + rest), expected("b4000041"));  // cbnz x1
  EXPECT_EQ(patch_near("36180202" + rest), expected("37180042"));  // tbz w2, 3
  EXPECT_EQ(patch_near("b7f80203" + rest), expected("b6f80043"));  // tbnz x3, 63
}

TEST(RelocatorAarch64, ConditionalJumpsThatReach) {
  // From 7f0000003000 to 7f0000001040.
  const auto patch_close = [](const std::string& code) {
    return patch(Architecture::aarch64, code + rest, "", {near.hook, entry + 0x2000});
  };
  EXPECT_EQ(patch_close("54000200"), (Patched{0, near_jump, "54ff0200 17fff800", ""}));  // b.eq
  EXPECT_EQ(patch_close("b5000201"), (Patched{0, near_jump, "b5ff0201 17fff800", ""}));  // cbnz x1
  EXPECT_EQ(patch_close("36180202"), (Patched{0, near_jump, "361f0202 17fff800", ""}));  // tbz w2, 3
}

TEST(RelocatorAarch64, ConditionalJumpsToFarOff) {
  const std::string three = " 910003fd a9bf53f3 aa0003f3";
  EXPECT_EQ(patch_far("54000200" + three + rest),  // b.eq: b.ne over ldr x17; br x17
            (Patched{0, far_jump, "540000a1 58000051 d61f0220 00001040 00007f00" + three + back_far, ""}));
  EXPECT_EQ(patch_far("36180202" + three + rest),  // tbz w2, 3
            (Patched{0, far_jump, "371800a2 58000051 d61f0220 00001040 00007f00" + three + back_far, ""}));
}

TEST(RelocatorAarch64, AConditionThatAlwaysHoldsIsNone) {
  EXPECT_EQ(patch_near("5400020e"), (Patched{0, near_jump, "17f80010", ""}));  // b.al 7f0000001040
}

TEST(RelocatorAarch64, TheOtherScratchRegisterWhereTheMovedInstructionsUseOne) {
  // mov x17, x0: live behind the moved instructions, perhaps.
  EXPECT_EQ(patch_far("910003fd a9bf53f3 aa0003f3 aa0003f1" + rest),
            (Patched{0, far_jump, "910003fd a9bf53f3 aa0003f3 aa0003f1 58000050 d61f0200 00001010 00007f00", ""}));
  // ldr x0, [x17, w16, uxtw]
  EXPECT_EQ(patch_far("910003fd a9bf53f3 aa0003f3 b8704a20" + rest), refused("unknown instruction"));
}

TEST(RelocatorAarch64, PaddingBehindAShortFunctionMayBeUsed) {
  const std::string call = "94100000 d65f03c0";  // bl 7f0000401000; ret
  const Patched patched{0, far_jump, "58000071 d63f0220 14000003 00401000 00007f00 d65f03c0", ""};
  EXPECT_EQ(patch_far(call, "d503201f d503201f"), patched);  // nop
  EXPECT_EQ(patch_far(call, "00000000 00000000"), patched);
  EXPECT_EQ(patch_far(call, "d503201f"), refused("too short"));
  EXPECT_EQ(patch_far(call, "d503201f " + prologue), refused("too short"));
  EXPECT_EQ(patch_far(call, "d503201f d503245f"), refused("too short"));                 // bti c: somebody's entry
  EXPECT_EQ(patch_far("94100000 910003fd", "d503201f d503201f"), refused("too short"));  // it goes on behind its end
  EXPECT_EQ(patch_near("d503245f"), refused("too short"));
  EXPECT_EQ(patch_near(""), refused("too short"));
}

TEST(RelocatorAarch64, BranchesBack) {
  EXPECT_EQ(patch_far(four + " 54ffffa1" + rest), refused("branch back into the moved instructions"));  // b.ne to 4
  EXPECT_EQ(patch_far(four + " b4ffffe0" + rest), refused("branch back into the moved instructions"));  // cbz x0 to 12
  EXPECT_EQ(patch_far(four + rest + " 17fffffc"), refused("branch back into the moved instructions"));  // b to 8
  EXPECT_EQ(patch_far(four + " 371fffc0" + rest), refused("branch back into the moved instructions"));  // tbnz to 8
  // To the jump or behind the moved instructions: harmless.
  EXPECT_EQ(patch_far(four + " 54ffff81" + rest), (Patched{0, far_jump, four + back_far, ""}));  // b.ne to 0
  EXPECT_EQ(patch_far(four + " 54000001" + rest), (Patched{0, far_jump, four + back_far, ""}));  // b.ne to 16
  EXPECT_EQ(patch_near(four + " 54ffffa1" + rest), (Patched{0, near_jump, prologue + back_near(4, 1), ""}));
  EXPECT_EQ(patch_near("d503245f " + prologue + " 54ffffe1" + rest),  // b.ne to 4, behind the landing pad
            (Patched{4, "1403ffff", prologue + back_near(8, 1), ""}));
}

TEST(RelocatorAarch64, JumpTables) {
  // adr x1; add x0, x1, w0, sxtb 2; br x0
  EXPECT_EQ(patch_far(four + rest + " 10000061 8b208820 d61f0000"), refused("jump table"));
  EXPECT_EQ(patch_far(four + rest + " f94007e0 d61f0000"), refused("jump table"));  // ldr x0, [sp, 8]; br x0
  EXPECT_EQ(patch_far(four + rest + " f9400fa0 d61f0000"), refused("jump table"));  // ldr x0, [x29, 24]; br x0
  EXPECT_EQ(patch_near(prologue + rest + " 10000061 8b208820 d61f0000"),
            (Patched{0, near_jump, prologue + back_near(4, 1), ""}));
  // Tail calls: ldr x3, [x0, 24]; mov w0, 1; br x3
  EXPECT_EQ(patch_far(four + " f9400c03 52800020 d61f0060"), (Patched{0, far_jump, four + back_far, ""}));
}

TEST(RelocatorAarch64, WhatIsNoInstruction) {
  EXPECT_EQ(patch_near("00000000" + rest), refused("unknown instruction"));
  EXPECT_EQ(patch_far("910003fd a9bf53f3 ffffffff aa0003f3" + rest), refused("unknown instruction"));
}

TEST(RelocatorAarch64, LeafFunctions) {
  const Patched patched{0, near_jump, "aa0003f3" + back_near(4, 1), ""};  // mov x19, x0
  EXPECT_EQ(patch_near("aa0003f3 d65f03c0"), refused("leaf function"));
  EXPECT_EQ(patch_near("aa0003f3 54000041 aa0003f3 d65f03c0"), refused("leaf function"));  // b.ne within
  EXPECT_EQ(patch_near("aa0003f3 97ffffff d65f03c0"), refused("leaf function"));           // bl itself
  EXPECT_EQ(patch_near("aa0003f3 8b208820 d61f0000"), refused("leaf function"));           // a jump table
  EXPECT_EQ(patch_near("aa0003f3 d63f0060 d65f03c0"), patched);                            // blr x3
  EXPECT_EQ(patch_near("aa0003f3 14100000"), patched);                                     // a tail call
  EXPECT_EQ(patch_near("aa0003f3 54080001 d65f03c0"), patched);                            // a conditional one
  EXPECT_EQ(patch_near("aa0003f3 f9400c03 d61f0060"), patched);                            // one through a pointer
}

TEST(RelocatorAarch64, FunctionsThatCallTheirObjectOnlyAreLeaves) {
  const Patched patched{0, near_jump, "aa0003f3" + back_near(4, 1), ""};  // mov x19, x0
  const auto patch_beside = [&](const std::string& others) {
    return patch(Architecture::aarch64, "aa0003f3 94000002 d65f03c0", "", near, others);  // calls `others`
  };
  EXPECT_EQ(patch_beside("d65f03c0"), refused("leaf function"));
  EXPECT_EQ(patch_beside("97fffffd d65f03c0"), refused("leaf function"));   // calls back
  EXPECT_EQ(patch_beside("8b208820 d61f0000"), refused("leaf function"));   // a jump table
  EXPECT_EQ(patch_beside("d63f0060 d65f03c0"), patched);                    // blr x3
  EXPECT_EQ(patch_beside("94100000 d65f03c0"), patched);                    // calls another object
  EXPECT_EQ(patch_beside("b0000090 f9400211 91000210 d61f0220"), patched);  // as linkers make it
}

TEST(RelocatorAarch64, TheLongestTrampoline) {
  // Five loads of vector registers, each an address of five instructions at most, and one instruction of the function.
  const Places highest{0xffff'ffff'ffff'0000, 0xffff'0000'0000'0000};
  const Patched patched =
      patch(Architecture::aarch64, "d503233f 9c000040 9c000041 9c000042 9c000043" + rest, "", highest);
  EXPECT_EQ(patched.obstacle, "");
  const Patched calls =
      patch(Architecture::aarch64, "d503233f 94100000 94100000 94100000 94100000" + rest, "", highest);
  EXPECT_EQ(calls.obstacle, "");
  EXPECT_EQ(calls.trampoline.size(), 9 * (1 + 4 * 5 + 4) - 1);
}

TEST(RelocatorAarch64, InARunningFunctionOneWordChanges) {
  const std::vector<std::byte> bytes = from_hex("d503233f " + prologue + rest);  // paciasp
  const FunctionCode function{bytes, 0, entry};
  const std::vector<JumpPlace> places = relocator(Architecture::aarch64).jump_places(function);
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(places[0].offset, 4U);
  EXPECT_EQ(to_hex(places[0].undo, 4), "d50323bf");  // autiasp
  const auto patch = relocator(Architecture::aarch64).patch_running(function, places[0], near.hook, near.trampoline);
  ASSERT_TRUE(patch);
  EXPECT_EQ(to_hex(patch->jump, 4), "1403ffff");
  EXPECT_EQ(to_hex(patch->trampoline, 4), "d503233f " + prologue + back_near(8, 2));
}

TEST(RelocatorAarch64, AnEmptyFunction) {
  const auto patched = [](const std::string& code) {
    return relocator(Architecture::aarch64).patch_empty(from_hex(code), entry, near.hook);
  };
  EXPECT_EQ(to_hex(patched("d65f03c0 d503201f d503201f d503201f")->jump, 4), near_jump);
  EXPECT_EQ(patched("d503245f d65f03c0 d503201f d503201f")->offset, 4U);
  EXPECT_EQ(patched("a9bf7bfd d65f03c0 d503201f d503201f").error(), Obstacle::too_short);
}

}  // namespace
}  // namespace blastoff::intercept::patch
