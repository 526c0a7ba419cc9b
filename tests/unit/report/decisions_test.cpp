#include "report/decisions.h"

#include <gtest/gtest.h>

#include "blas_front_end.h"
#include "product_call.h"
#include "report/recorder.h"

namespace blastoff::report {
namespace {

operation::Operation product_of(std::int64_t n) {
  static char memory[3];
  return test::product_call({&memory[0], &memory[1], &memory[2]}, n, n, n);
}

class DecisionsTest : public testing::Test {
 protected:
  void SetUp() override {
    explain_decisions(2);
    forget_decisions();
  }
  void TearDown() override { explain_decisions(0); }
};

TEST_F(DecisionsTest, AreAddedUpByClassAndVerdict) {
  add_decision(product_of(500), Refusal::not_timed, {.device_seconds = 1, .missing_bytes = 100}, 3, 0);
  add_decision(product_of(500), Refusal::none, {.cpu_seconds = 4, .device_seconds = 1, .missing_bytes = 100}, 1, 3000);
  add_decision(product_of(504), Refusal::none, {.cpu_seconds = 2, .device_seconds = 3, .bringing_seconds = 1}, 1.5,
               1000);
  const auto decisions = dearest_decisions();
  ASSERT_EQ(decisions.size(), 2);
  EXPECT_EQ(decisions[0].refusal, Refusal::not_timed);
  EXPECT_EQ(decisions[0].known, 0);
  EXPECT_EQ(decisions[1].refusal, Refusal::none);
  EXPECT_EQ(decisions[1].calls, 2);
  EXPECT_EQ(decisions[1].seconds, 2.5);
  EXPECT_EQ(decisions[1].longest, 1.5);
  EXPECT_EQ(decisions[1].example, "N N m=504 n=504 k=504") << "the one that took longest";
  EXPECT_EQ(decisions[1].predicted.cpu_seconds, 6);
  EXPECT_EQ(decisions[1].predicted.missing_bytes, 100);
}

TEST_F(DecisionsTest, TheDearestAreShown) {
  for (const std::int64_t n : {100, 1000, 300})
    add_decision(product_of(n), Refusal::none, {}, static_cast<double>(n), 0);
  const auto decisions = dearest_decisions();
  ASSERT_EQ(decisions.size(), 2);
  EXPECT_EQ(decisions[0].seconds, 1000);
  EXPECT_EQ(decisions[1].seconds, 300);
  const std::string text = to_text(decisions);
  EXPECT_NE(text.find("dgemm N N m=1000 n=1000 k=1000: offloaded"), std::string::npos) << text;
  EXPECT_EQ(to_text({}), "");
}

TEST_F(DecisionsTest, AChildBeginsAnew) {
  add_decision(product_of(100), Refusal::none, {}, 1, 0);
  reset();
  EXPECT_TRUE(dearest_decisions().empty());
}

}  // namespace
}  // namespace blastoff::report
