// Names as text that is safe on a terminal.
#include "platform/printable.h"

#include <gtest/gtest.h>

namespace blastoff::platform {
namespace {

TEST(Printable, PlainTextStays) {
  EXPECT_EQ(printable("dgemm_ ./a.out --x=1"), "dgemm_ ./a.out --x=1");
  EXPECT_EQ(printable("Übung 計算 \U0001F680"), "Übung 計算 \U0001F680");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, WhatATerminalActsOnDoesNot) {
  EXPECT_EQ(printable("a\x1b[31mb\a\x7f\n\r\t"), "a?[31mb?????");
  EXPECT_EQ(printable("\u009b2J\u0085"), "?2J?") << "of the second set of control characters";
  EXPECT_EQ(printable("\u202egnp.\u2066\u200f\u061c\u2028"), "?gnp.????") << "direction of writing";
}

TEST(Printable, NeitherDoWhatIsNoUtf8) {
  EXPECT_EQ(printable("\x9b"
                      "31m\xff"),
            "?31m?");
  EXPECT_EQ(printable("\xc0\x9b\xe0\x80\x9b\xed\xa0\x80"), "????????") << "overlong, and half of a pair";
  EXPECT_EQ(printable("\xf0\x9f\x9a"), "???") << "cut";
}

}  // namespace
}  // namespace blastoff::platform
