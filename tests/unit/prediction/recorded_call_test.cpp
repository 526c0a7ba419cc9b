// A trace records enough of a distributed call to decide about it again.
#include "prediction/recorded_call.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "scalapack/trace_text.h"

namespace blastoff::prediction {
namespace {

using scalapack::Argument;
using scalapack::Call;
using scalapack::Grid;
using scalapack::Routine;

void expect_same(const Call& call, const Grid& grid) {
  const auto text = nlohmann::json::parse(scalapack::trace_text(call, grid));
  const auto recorded = RecordedCall::read(scalapack::row(call.routine()).name, text);
  ASSERT_TRUE(recorded);
  EXPECT_EQ(text.at("call"), call.fingerprint());
  EXPECT_EQ(recorded->call().fingerprint(), call.fingerprint());
  EXPECT_EQ(recorded->call().moved_bytes(), call.moved_bytes());
  EXPECT_EQ(recorded->call().multiplications(), call.multiplications());
  EXPECT_EQ(recorded->grid().size(), grid.size());
  EXPECT_TRUE(recorded->grid().is_root());
  EXPECT_EQ(scalapack::call_text(recorded->call()), scalapack::call_text(call));
  for (const scalapack::MatrixRule& rule : call.rules()) {
    if (!call.uses(rule.matrix)) continue;
    EXPECT_EQ(recorded->call().matrix(rule).address, call.matrix(rule).address);
    EXPECT_EQ(recorded->call().matrix(rule).intent, call.matrix(rule).intent);
  }
}

/// On the root of a grid of 2 x 3.
class RecordedCallTest : public testing::Test {
 protected:
  const Grid grid_{.context = 3, .rows = 2, .columns = 3, .row = 0, .column = 0};
  int m_ = 300, n_ = 200, k_ = 100, row_ = 5, column_ = 9, info_ = 0, length_ = 99;
  std::array<char, 4> letters_{'N', 't', 'L', 'V'};
  scalapack::Descriptor layout_{.context = 3,
                                .rows = 400,
                                .columns = 410,
                                .row_block = 64,
                                .column_block = 64,
                                .first_row = 1,
                                .leading_dimension = 300};
  scalapack::LongDescriptor long_layout_{.type = scalapack::LongDescriptor::dense,
                                         .context = 3,
                                         .rows = 400,
                                         .columns = 410,
                                         .first_row_block = 7,
                                         .first_column_block = 8,
                                         .row_block = 16,
                                         .column_block = 32,
                                         .leading_dimension = 300};
  std::array<double, 8> memory_{};
  std::array<float, 2> alpha_{0.5F, -3};
  std::array<float, 2> beta_{0, 0};
  void* const letter_length_ = reinterpret_cast<void*>(1);
};

TEST_F(RecordedCallTest, ProductOfComplexNumbersWithBothKindsOfDescriptors) {
  std::vector<void*> words{&letters_[0], &letters_[1], &m_,      &n_,         &k_,      &alpha_,        &memory_[0],
                           &row_,        &column_,     &layout_, &memory_[1], &row_,    &column_,       &long_layout_,
                           &beta_,       &memory_[2],  &row_,    &column_,    &layout_, letter_length_, letter_length_};
  expect_same(Call(Routine::pcgemm, words.data()), grid_);
  beta_[1] = 1;  // C is read, too
  expect_same(Call(Routine::pcgemm, words.data()), grid_);
}

TEST_F(RecordedCallTest, EigenproblemWithLimitsThatNobodyReads) {
  char range = 'V';
  double low = -std::numeric_limits<double>::infinity(), high = 7, tolerance = 0, orfac = 1e-3;
  std::vector<void*> words{&letters_[3],   &range,        &letters_[2], &n_,         &memory_[0], &row_,
                           &column_,       &layout_,      &low,         &high,       nullptr,     nullptr,
                           &tolerance,     &info_,        &info_,       &memory_[1], &orfac,      &memory_[2],
                           &row_,          &column_,      &layout_,     &memory_[3], &length_,    &memory_[4],
                           &length_,       &memory_[5],   &memory_[6],  &memory_[7], &info_,      letter_length_,
                           letter_length_, letter_length_};
  const auto text = scalapack::trace_text(Call(Routine::pdsyevx, words.data()), grid_);
  const auto recorded = RecordedCall::read("pdsyevx", nlohmann::json::parse(text));
  ASSERT_TRUE(recorded);
  const auto limit = [&](Argument argument) { return *static_cast<const double*>(recorded->call().word(argument)); };
  EXPECT_EQ(limit(Argument::vl), std::numeric_limits<double>::lowest()) << "JSON has no infinity";
  EXPECT_EQ(limit(Argument::vu), 7);
  EXPECT_EQ(recorded->call().moved_bytes(), Call(Routine::pdsyevx, words.data()).moved_bytes());
}

TEST_F(RecordedCallTest, OtherRanksTellOnlyWhichCallItWas) {
  std::vector<void*> words{&letters_[2], &n_, &memory_[0], &row_, &column_, &layout_, &info_, letter_length_};
  const Call call(Routine::pdpotrf, words.data());
  Grid other = grid_;
  other.column = 1;
  EXPECT_EQ(scalapack::trace_text(call, other), "{\"call\":" + std::to_string(call.fingerprint()) + "}");
  info_ = 3;
  EXPECT_TRUE(nlohmann::json::parse(scalapack::trace_text(call, other)).contains("failed"));
  expect_same(call, grid_);
}

TEST_F(RecordedCallTest, OfAnUnknownRoutineThereIsNone) {
  EXPECT_EQ(RecordedCall::read("pdnone", {}), nullptr);
}

}  // namespace
}  // namespace blastoff::prediction
