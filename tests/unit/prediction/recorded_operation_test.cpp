// A trace records enough of a call to replay it, for every BLAS routine with every option.
#include "prediction/recorded_operation.h"

#include <gtest/gtest.h>

#include "blas/front_end.h"
#include "blas/shape.h"
#include "intercept/front_ends.h"
#include "test_call.h"

namespace blastoff::prediction {
namespace {

class RecordedOperation : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const intercept::RoutineTable* table : intercept::front_ends()) operation::add_front_end(table->front_end());
  }
};

blas::Call call_of(blas::Routine routine, const test::Options& options, double beta) {
  blas::Call call;
  call.routine = routine;
  call.side = options.side;
  call.uplo = options.uplo;
  call.transpose_a = options.transpose_a;
  call.transpose_b = options.transpose_b;
  call.diagonal = options.diagonal;
  call.m = 900;
  call.n = 800;
  call.k = 700;
  call.alpha = 1;
  call.beta = beta;
  char* const memory = reinterpret_cast<char*>(std::uintptr_t{1} << 40);
  std::array<void*, 3> addresses{memory, memory + (1 << 26), memory + (2 << 26)};
  const std::array<std::int64_t, 3> leading_dimensions{1000, 1000, 1000};
  const auto count = static_cast<std::size_t>(blas::operand_count(row(routine).kind));
  blas::shape_operands(call, std::span(addresses).first(count), std::span(leading_dimensions).first(count));
  return call;
}

Description description_of(const operation::Operation& operation) {
  Description description;
  description.routine = operation.name();
  description.arguments = operation.arguments();
  description.work = operation.work;
  description.operands.assign(operation.operands().begin(), operation.operands().end());
  return description;
}

void expect_same(const operation::Operation& left, const operation::Operation& right) {
  ASSERT_EQ(left.operands().size(), right.operands().size());
  EXPECT_EQ(left.arguments(), right.arguments());
  EXPECT_DOUBLE_EQ(left.work.flops, right.work.flops);
  EXPECT_DOUBLE_EQ(left.work.volume, right.work.volume);
  for (std::size_t i = 0; i < left.operands().size(); ++i) {
    const operation::Operand& one = left.operands()[i];
    const operation::Operand& other = right.operands()[i];
    EXPECT_EQ(one.address, other.address);
    EXPECT_EQ(one.rows, other.rows);
    EXPECT_EQ(one.columns, other.columns);
    EXPECT_EQ(one.leading_dimension, other.leading_dimension);
    EXPECT_EQ(one.part, other.part);
    EXPECT_EQ(one.intent, other.intent);
    EXPECT_EQ(one.transient, other.transient);
  }
}

TEST_F(RecordedOperation, OfBlasIsCutAsTheCall) {
  for (std::size_t i = 0; i < blas::routine_count; ++i) {
    const auto routine = static_cast<blas::Routine>(i);
    for (const test::Options& options : test::all_options(routine)) {
      for (const double beta : {0.0, 1.0}) {
        const operation::Operation call = call_of(routine, options, beta);
        const auto recorded = operation_of(description_of(call));
        ASSERT_TRUE(recorded) << call.name() << ' ' << call.arguments();
        expect_same(call, *recorded);
        const auto pieces = operation::pieces(call, 1 << 20);
        const auto again = operation::pieces(*recorded, 1 << 20);
        ASSERT_EQ(pieces.size(), again.size());
        for (std::size_t piece = 0; piece < pieces.size(); ++piece) expect_same(pieces[piece], again[piece]);
      }
    }
  }
}

TEST_F(RecordedOperation, OfLapackKeepsItsNameAndOperands) {
  Description description;
  description.routine = "dgetrf";
  description.arguments = "m=900 n=900";
  description.work = {1e9, 7e8, 300};
  description.may_fail = true;
  operation::Operand& matrix = description.operands.emplace_back();
  matrix.rows = matrix.columns = matrix.leading_dimension = 900;
  matrix.element_size = sizeof(double);
  matrix.intent = operation::Intent::update;
  const auto recorded = operation_of(description);
  ASSERT_TRUE(recorded);
  EXPECT_STREQ(recorded->name(), "dgetrf");
  EXPECT_TRUE(recorded->may_fail);
  EXPECT_EQ(operation::pieces(*recorded, 1 << 20).size(), 1U);
}

TEST_F(RecordedOperation, OfRoutinesThatAreNotKnownIsNone) {
  Description description;
  description.routine = "dnone";
  EXPECT_FALSE(operation_of(description));
  description.routine = "dgemm";
  description.arguments = "N N m=1 n=1 k=1";
  EXPECT_FALSE(operation_of(description)) << "without operands";
}

}  // namespace
}  // namespace blastoff::prediction
