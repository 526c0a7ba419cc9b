#include "launcher/command_line.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace blastoff::launcher {
namespace {

using Words = std::vector<std::string>;

Words given(const CommandLine& line) {
  Words words;
  for (const auto& [option, value] : line.given) words.push_back(std::string(option->name) + "=" + value);
  return words;
}

TEST(CommandLine, AProgramIsTheFirstWordThatIsNoOption) {
  const Words words{"--policy", "copy", "--min-size=7", "ls", "--policy", "--"};
  const auto line = read_command_line(words);
  ASSERT_TRUE(line);
  EXPECT_EQ(given(*line), (Words{"policy=copy", "min-size=7"}));
  EXPECT_EQ(line->program, (Words{"ls", "--policy", "--"}));
}

TEST(CommandLine, AnOptionThatNeedsNoValueTakesOneAfterTheEqualsSign) {
  const auto bare = read_command_line(Words{"--verify", "off"});
  ASSERT_TRUE(bare);
  EXPECT_EQ(given(*bare), Words{"verify=report"});
  EXPECT_EQ(bare->program, Words{"off"});
  EXPECT_EQ(value_hint(*bare, "off"), "; the value of --verify follows after an equals sign: --verify=off");
  EXPECT_EQ(value_hint(*bare, "ls"), "");
  const auto valued = read_command_line(Words{"--verify=off", "--", "--verify"});
  ASSERT_TRUE(valued);
  EXPECT_EQ(given(*valued), Words{"verify=off"});
  EXPECT_EQ(valued->program, Words{"--verify"});
}

TEST(CommandLine, MistakesAreExplained) {
  const auto message = [](const Words& words) { return read_command_line(words).error().message; };
  EXPECT_EQ(message({"--polcy=copy", "ls"}), "run: unknown option --polcy (did you mean --policy?)");
  EXPECT_EQ(message({"--frobnicate"}), "run: unknown option --frobnicate; blastoff run --help lists the options");
  EXPECT_EQ(message({"--library=x"}), "run: unknown option --library; blastoff run --help lists the options");
  EXPECT_EQ(message({"--policy", "--", "ls"}), "run: --policy needs a value: auto, first-use, coherent or copy");
  EXPECT_EQ(message({"--policy=fast"}), "invalid value --policy=fast; accepted: auto, first-use, coherent or copy");
}

TEST(CommandLine, HelpComesFirst) {
  const auto line = read_command_line(Words{"--policy=copy", "--help"});
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->asks_for_help);
}

}  // namespace
}  // namespace blastoff::launcher
