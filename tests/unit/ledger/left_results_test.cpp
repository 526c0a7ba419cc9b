// What is said of results that are lost.
#include "ledger/left_results.h"

#include <gtest/gtest.h>

namespace blastoff::ledger {
namespace {

constexpr std::uintptr_t megabyte = 1'000'000;

LeftResult result(std::uintptr_t begin, std::uintptr_t end, const char* routine) {
  return {{begin * megabyte, end * megabyte}, routine, 100, 200};
}

TEST(LeftResultsTest, AreNamedByWhatComputedThemLast) {
  LeftResults results;
  results.note(result(1, 3, "dgemm"));
  results.note(result(8, 9, "dsyrk"));
  results.note(result(1, 3, "dtrsm"));
  EXPECT_EQ(results.names({{1 * megabyte, 3 * megabyte}}), "100 x 200 of dtrsm at 0xf4240 (2.00 MB)");
}

// A block of a matrix was computed after the matrix.
TEST(LeftResultsTest, ShareNoBytes) {
  LeftResults results;
  results.note(result(0, 10, "dgemm"));
  results.note(result(4, 6, "dgetrf"));
  EXPECT_EQ(results.names({{0, 5 * megabyte}, {7 * megabyte, 8 * megabyte}}),
            "100 x 200 of dgetrf at 0x3d0900 (1.00 MB), 100 x 200 of dgemm at 0x0 (5.00 MB)");
}

TEST(LeftResultsTest, OtherBytesAreNamedByTheirAddress) {
  LeftResults results;
  results.note(result(1, 2, "dgemm"));
  EXPECT_EQ(results.names({{3 * megabyte, 4 * megabyte}}), "1.00 MB at 0x2dc6c0");
}

TEST(LeftResultsTest, AreSoManyThatALineCanNameThem) {
  LeftResults results;
  std::vector<Span> runs;
  for (std::uintptr_t i = 0; i < 100; ++i) {
    results.note(result(2 * i, 2 * i + 1, i < 36 ? "old" : "dgemm"));
    runs.push_back({2 * i * megabyte, (2 * i + 1) * megabyte});
  }
  const std::string names = results.names(runs);
  EXPECT_EQ(names.substr(0, 32), "100 x 200 of dgemm at 0xbcd3d80 ");
  EXPECT_EQ(names.find("old"), std::string::npos);
  EXPECT_EQ(names.substr(names.size() - 13), ", and 92 more");
}

}  // namespace
}  // namespace blastoff::ledger
