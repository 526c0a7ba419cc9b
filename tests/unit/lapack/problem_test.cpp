#include "lapack/problem.h"

#include <gtest/gtest.h>

#include "example.h"

namespace blastoff::test {
namespace {

using operation::Intent;
using operation::Part;

TEST(ArgumentLists, CountTheWordsOfACall) {
  EXPECT_EQ(lapack::argument_list(Routine::dgetrf).words(), 6U);
  EXPECT_EQ(lapack::argument_list(Routine::dpotrf).words(), 6U);
  EXPECT_EQ(lapack::argument_list(Routine::dsyevr).words(), 24U);
  EXPECT_EQ(lapack::argument_list(Routine::zhegvx).words(), lapack::max_words);
  EXPECT_EQ(lapack::argument_list(Routine::dgeev).words(), lapack::argument_list(Routine::zgeev).words());
}

TEST(ArgumentLists, FitIntoAnOperation) {
  for (std::size_t i = 0; i < lapack::routine_count; ++i) {
    const lapack::ArgumentList& list = lapack::argument_list(static_cast<Routine>(i));
    EXPECT_LE(list.words(), lapack::max_words);
    EXPECT_LE(list.size(), lapack::ArgumentList::max_size);
    const std::ptrdiff_t eigenvectors = list.has(Argument::found) ? 1 : 0;
    EXPECT_LE(std::count_if(list.begin(), list.end(), lapack::is_vector) + eigenvectors,
              static_cast<std::ptrdiff_t>(operation::Operation::max_vectors));
  }
}

TEST(RoutineTable, HoldsEveryKindInEveryType) {
  EXPECT_EQ(lapack::routine_count, 40U * 4U);
  EXPECT_STREQ(row(routine_of(Kind::orgqr, blas::Scalar::z)).name, "zungqr");
  EXPECT_STREQ(row(routine_of(Kind::syevd, blas::Scalar::c)).name, "cheevd");
  EXPECT_STREQ(row(routine_of(Kind::sygvx, blas::Scalar::s)).name, "ssygvx");
  EXPECT_STREQ(row(routine_of(Kind::spevd, blas::Scalar::d)).name, "dspevd");
  EXPECT_STREQ(row(routine_of(Kind::spgvx, blas::Scalar::z)).name, "zhpgvx");
}

std::string text_of(Routine routine, const Options& options) {
  return text(Example(routine, options).call().problem());
}

TEST(Text, SaysOptionsAndSizesInTheRoutinesOrder) {
  EXPECT_EQ(text_of(Routine::dpotrf, {.n = 2000, .uplo = 'l'}), "L n=2000");
  EXPECT_EQ(text_of(Routine::zgetrs, {.n = 20, .k = 10, .trans = 'c'}), "C n=20 nrhs=10");
  EXPECT_EQ(text_of(Routine::sormqr, {.m = 5, .n = 4, .k = 3, .trans = 'T', .side = 'R'}), "R T m=5 n=4 k=3");
  EXPECT_EQ(text_of(Routine::dsyevr, {.n = 20, .job = 'V'}), "V A L n=20");
  EXPECT_EQ(text_of(Routine::dsygvx, {.n = 20, .range = 'I', .itype = 2}), "itype=2 N I L n=20 il=3 iu=12");
  EXPECT_EQ(text_of(Routine::ssyevx, {.n = 20, .range = 'V'}), "N V L n=20 vl=-5 vu=20");
  EXPECT_EQ(text_of(Routine::cgesvd, {.m = 7, .n = 9, .job = 'S', .job_right = 'S'}), "S S m=7 n=9");
}

lapack::MatrixShape shape_of(Routine routine, const Options& options, Argument argument) {
  return matrix_shape(Example(routine, options).call().problem(), argument);
}

TEST(Shape, OfAMatrixThatEigenvectorsReplaceIsWhole) {
  const lapack::MatrixShape vectors = shape_of(Routine::dsyevd, {.n = 9, .job = 'V'}, Argument::a);
  EXPECT_EQ(vectors.part, Part::full);
  EXPECT_EQ(vectors.intent, Intent::update);
  const lapack::MatrixShape values = shape_of(Routine::dsyevd, {.n = 9, .uplo = 'U'}, Argument::a);
  EXPECT_EQ(values.part, Part::upper);
  EXPECT_EQ(values.intent, Intent::read);
}

TEST(Shape, OfAPackedTriangleIsOneColumn) {
  const lapack::MatrixShape a = shape_of(Routine::zhpgvd, {.n = 9, .uplo = 'U', .job = 'V'}, Argument::a);
  EXPECT_EQ(a.rows, 45);
  EXPECT_EQ(a.columns, 1);
  EXPECT_EQ(a.part, Part::full);
  EXPECT_EQ(a.intent, Intent::read);
  EXPECT_EQ(shape_of(Routine::zhpgvd, {.n = 9}, Argument::b).rows, 45);
  EXPECT_EQ(shape_of(Routine::zhpgvd, {.n = 9}, Argument::b).intent, Intent::update);
  EXPECT_EQ(shape_of(Routine::dspev, {.n = 9, .job = 'V'}, Argument::z).columns, 9);
  EXPECT_EQ(shape_of(Routine::dspev, {.n = 9}, Argument::z).columns, 0);
}

TEST(Shape, OfVectorsFollowsTheJob) {
  EXPECT_EQ(shape_of(Routine::dsyevr, {.n = 20, .job = 'V', .range = 'I'}, Argument::z).columns, 10);
  EXPECT_EQ(shape_of(Routine::dsyevr, {.n = 20, .job = 'N'}, Argument::z).rows, 0);
  EXPECT_EQ(shape_of(Routine::dgesdd, {.m = 7, .n = 9, .job = 'S'}, Argument::z).columns, 7);
  EXPECT_EQ(shape_of(Routine::dgesdd, {.m = 7, .n = 9, .job = 'S'}, Argument::right).rows, 7);
  EXPECT_EQ(shape_of(Routine::dgesdd, {.m = 7, .n = 9, .job = 'A'}, Argument::right).rows, 9);
  EXPECT_EQ(shape_of(Routine::dgesdd, {.m = 7, .n = 9, .job = 'N'}, Argument::right).rows, 0);
  EXPECT_EQ(shape_of(Routine::zunmqr, {.m = 7, .n = 9, .k = 3, .side = 'R'}, Argument::a).rows, 9);
}

TEST(Shape, OfRightHandSidesHasRoomForTheSolution) {
  EXPECT_EQ(shape_of(Routine::dgels, {.m = 9, .n = 7, .k = 2}, Argument::b).rows, 9);
  EXPECT_EQ(shape_of(Routine::dgels, {.m = 7, .n = 9, .k = 2}, Argument::b).rows, 9);
  EXPECT_EQ(shape_of(Routine::dgels, {.m = 7, .n = 9, .k = 2}, Argument::b).columns, 2);
}

TEST(Shape, OfEigenvectorsInARangeOfValuesHasNoKnownColumns) {
  const lapack::Problem problem = Example(Routine::dsyevr, {.n = 20, .job = 'V', .range = 'V'}).call().problem();
  EXPECT_EQ(matrix_shape(problem, Argument::z).rows, 20);
  EXPECT_EQ(matrix_shape(problem, Argument::z).columns, 0);
  EXPECT_EQ(vector_shape(problem, Argument::isuppz).count, 0);
  EXPECT_EQ(result_bytes(problem, Argument::w, 7), 7 * sizeof(double));
  EXPECT_EQ(result_bytes(problem, Argument::w, 21), 20 * sizeof(double));
  EXPECT_EQ(result_bytes(problem, Argument::found, 7), 4U);
}

TEST(Shape, OfHostVectors) {
  const lapack::Problem part = Example(Routine::zhegvx, {.n = 20, .job = 'V', .range = 'I'}, 8).call().problem();
  EXPECT_EQ(vector_shape(part, Argument::w).count, 10);
  EXPECT_EQ(vector_shape(part, Argument::w).element_bytes, sizeof(double));
  EXPECT_EQ(vector_shape(part, Argument::ifail).element_bytes, sizeof(std::int64_t));
  const lapack::Problem general = Example(Routine::cgeev, {.n = 20}).call().problem();
  EXPECT_EQ(vector_shape(general, Argument::w).element_bytes, 2 * sizeof(float));
  const lapack::Problem given = Example(Routine::dgetri, {.n = 20}).call().problem();
  EXPECT_EQ(vector_shape(given, Argument::ipiv).intent, Intent::read);
}

}  // namespace
}  // namespace blastoff::test
