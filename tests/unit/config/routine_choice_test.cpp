#include "config/routine_choice.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace blastoff::config {
namespace {

const std::vector<std::string> names{"sgemm", "dgemm", "dgemmt", "dtrsm", "pdgemm"};

/// The chosen routines, or the error.
std::string chosen(std::string_view list) {
  const auto choice = RoutineChoice::read(list, names);
  if (!choice) return choice.error();
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (choice->contains(i)) text += (text.empty() ? "" : " ") + names[i];
  return text;
}

TEST(RoutineChoice, NamesChooseTheseAlone) {
  EXPECT_EQ(chosen("dgemm,dtrsm"), "dgemm dtrsm");
  EXPECT_EQ(chosen("DGEMM"), "dgemm");
}

TEST(RoutineChoice, AMinusInFrontLeavesRoutinesOut) {
  EXPECT_EQ(chosen("-dgemm,-dtrsm"), "sgemm dgemmt pdgemm");
}

TEST(RoutineChoice, AStarStandsForLetters) {
  EXPECT_EQ(chosen("*gemm"), "sgemm dgemm pdgemm");
  EXPECT_EQ(chosen("-*"), "");
}

TEST(RoutineChoice, LaterNamesChangeWhatEarlierOnesSaid) {
  EXPECT_EQ(chosen("*gemm*,-pdgemm,-sgemm"), "dgemm dgemmt");
  EXPECT_EQ(chosen("-d*,dtrsm"), "sgemm dtrsm pdgemm");
}

TEST(RoutineChoice, AnEmptyListAndLaterRoutinesAreChosen) {
  EXPECT_EQ(chosen(""), "sgemm dgemm dgemmt dtrsm pdgemm");
  EXPECT_TRUE(RoutineChoice::read("dgemm", names)->contains(names.size()));
}

TEST(RoutineChoice, NamesThoseThatTheListAllows) {
  const auto named = [](std::string_view list) {
    const auto choice = RoutineChoice::read(list, names);
    std::string marks;
    for (std::size_t i = 0; i <= names.size(); ++i) marks += choice->names(i) ? '1' : '0';
    return marks;
  };
  EXPECT_EQ(named(""), "000000");
  EXPECT_EQ(named("-dgemm"), "000000") << "chosen, but not by name";
  EXPECT_EQ(named("*"), "111110");
  EXPECT_EQ(named("*,-dgemm"), "101110");
  EXPECT_EQ(named("-s*,dgemm"), "010000");
}

TEST(RoutineChoice, ANameOfNoRoutineIsAnError) {
  EXPECT_EQ(chosen("dgem"), "no routine is called dgem (did you mean dgemm?)");
  EXPECT_EQ(chosen("dgemm,-fast*"), "no routine is called fast*");
  EXPECT_EQ(chosen("dgemm,"), "no routine is called ''");
}

}  // namespace
}  // namespace blastoff::config
