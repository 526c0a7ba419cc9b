// Compares the arguments of planners, in C and in Fortran, with the layouts that FFTW's manual describes.
#include "fft/planner.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "fft/footprint.h"

namespace blastoff::fft {
namespace {

using Dims = std::vector<Dimension>;

Dims list(const Dimensions& dimensions) {
  const auto all = dimensions.all();
  return {all.begin(), all.end()};
}

void* word(long value) {
  // The other half of an int's word may hold anything.
  return reinterpret_cast<void*>((0x7654L << 32) | (value & 0xffffffff));
}

char in_array[8];
char out_array[8];

std::optional<PlannerCall> call(Routine routine, const std::vector<void*>& words, std::size_t integer_bytes = 4) {
  EXPECT_EQ(words.size(), row(routine).words);
  return parse(row(routine), words, integer_bytes);
}

TEST(Planner, ReadsIntegersOfC) {
  const auto made =
      call(Routine::fftw_plan_dft_3d, {word(4), word(5), word(6), in_array, out_array, word(1), word(64)});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->in, in_array);
  EXPECT_EQ(made->out, out_array);
  EXPECT_EQ(made->transform.request.sign, 1);
  EXPECT_FALSE(made->transform.request.in_place);
  EXPECT_EQ(list(made->transform.dims), (Dims{{4, 30, 30}, {5, 6, 6}, {6, 1, 1}}));
  EXPECT_EQ(made->transform.batches.size(), 0U);
}

TEST(Planner, ReversesTheOrderOfFortran) {
  for (const std::size_t bytes : {4U, 8U}) {
    void* plan = nullptr;
    std::array<std::int64_t, 5> values{6, 5, 4, -1, 64};  // little-endian: the same for both widths
    const auto made =
        call(Routine::sfftw_plan_dft_3d_,
             {&plan, &values[0], &values[1], &values[2], in_array, in_array, &values[3], &values[4]}, bytes);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->transform.request.precision, Precision::f32);
    EXPECT_TRUE(made->transform.request.in_place);
    EXPECT_EQ(list(made->transform.dims), (Dims{{4, 30, 30}, {5, 6, 6}, {6, 1, 1}}));
  }
}

TEST(Planner, PadsTheLinesOfARealArrayInPlace) {
  const auto apart = call(Routine::fftw_plan_dft_r2c_2d, {word(3), word(7), in_array, out_array, word(64)});
  ASSERT_TRUE(apart);
  EXPECT_EQ(list(apart->transform.dims), (Dims{{3, 7, 4}, {7, 1, 1}}));
  const auto together = call(Routine::fftw_plan_dft_c2r_2d, {word(3), word(7), in_array, in_array, word(64)});
  ASSERT_TRUE(together);
  EXPECT_EQ(together->transform.request.sign, 1);
  EXPECT_EQ(list(together->transform.dims), (Dims{{3, 4, 8}, {7, 1, 1}}));
}

TEST(Planner, ReadsEmbeddings) {
  std::array<int, 2> n{3, 4};
  std::array<int, 2> in_embedding{9, 6};
  const auto made =
      call(Routine::fftw_plan_many_dft, {word(2), n.data(), word(5), in_array, in_embedding.data(), word(2), word(40),
                                         out_array, nullptr, word(5), word(1), word(-1), word(64)});
  ASSERT_TRUE(made);
  EXPECT_EQ(list(made->transform.dims), (Dims{{3, 12, 20}, {4, 2, 5}}));
  EXPECT_EQ(list(made->transform.batches), (Dims{{5, 40, 1}}));
}

struct IoDim {
  int n, is, os;
};

TEST(Planner, ReadsGuruDimensions) {
  std::array<IoDim, 2> dims{{{4, 5, 6}, {1, 77, 88}}};
  std::array<IoDim, 1> batches{{{3, 20, 1}}};
  const auto made = call(Routine::fftwf_plan_guru_dft,
                         {word(2), dims.data(), word(1), batches.data(), in_array, out_array, word(-1), word(64)});
  ASSERT_TRUE(made);
  EXPECT_EQ(list(made->transform.dims), (Dims{{4, 5, 6}})) << "a dimension of one point is none";
  EXPECT_EQ(list(made->transform.batches), (Dims{{3, 20, 1}}));
}

TEST(Planner, LeavesWhatItDoesNotHold) {
  std::array<int, 8> n{2, 2, 2, 2, 2, 2, 2, 2};
  EXPECT_FALSE(call(Routine::fftw_plan_dft_1d, {word(0), in_array, out_array, word(-1), word(64)}));
  EXPECT_FALSE(call(Routine::fftw_plan_dft_1d, {word(1), in_array, out_array, word(-1), word(64)}));
  EXPECT_FALSE(call(Routine::fftw_plan_dft_1d, {word(8), in_array, out_array, word(2), word(64)}));
  EXPECT_FALSE(call(Routine::fftw_plan_dft, {word(8), n.data(), in_array, out_array, word(-1), word(64)}));
  EXPECT_FALSE(call(Routine::fftw_plan_dft, {word(0), n.data(), in_array, out_array, word(-1), word(64)}));
  std::array<IoDim, 1> backwards{{{4, -1, 1}}};
  EXPECT_FALSE(call(Routine::fftw_plan_guru_dft,
                    {word(1), backwards.data(), word(0), nullptr, in_array, out_array, word(-1), word(64)}));
}

/// Every element that the loops reach, by brute force.
std::vector<bool> reached(const Transform& transform, std::size_t size) {
  std::vector<std::int64_t> offsets{0};
  const auto loop = [&](std::int64_t length, std::int64_t stride) {
    std::vector<std::int64_t> next;
    for (const std::int64_t offset : offsets)
      for (std::int64_t i = 0; i < length; ++i) next.push_back(offset + i * stride);
    offsets = next;
  };
  for (std::size_t d = 0; d < transform.dims.size(); ++d)
    loop(transform.out_length(d), transform.dims.all()[d].out_stride);
  for (const Dimension& batch : transform.batches.all()) loop(batch.length, batch.out_stride);
  std::vector<bool> hit(size);
  for (const std::int64_t offset : offsets) {
    EXPECT_FALSE(hit.at(static_cast<std::size_t>(offset))) << "two results in one place";
    hit[static_cast<std::size_t>(offset)] = true;
  }
  return hit;
}

TEST(Footprint, IsExactlyWhatTheLoopsReach) {
  const std::vector<std::pair<Dims, Dims>> layouts = {{{{4, 30, 30}, {5, 6, 6}, {6, 1, 1}}, {}},
                                                      {{{8, 5, 5}}, {{5, 1, 1}}},
                                                      {{{6, 2, 2}}, {}},
                                                      {{{4, 9, 9}, {7, 1, 1}}, {{3, 36, 36}}},
                                                      {{{3, 1, 1}}, {{2, 3, 3}, {4, 8, 8}}},
                                                      {{{2, 1, 1}, {3, 2, 2}}, {{2, 10, 10}}}};
  for (const auto& [dims, batches] : layouts)
    for (const Kind kind : {Kind::c2c, Kind::r2c}) {
      const auto transform = guru({kind, Precision::f64, -1, false}, dims, batches);
      ASSERT_TRUE(transform);
      const auto footprint = output_footprint(*transform);
      if (!footprint) continue;  // halved lines may leave gaps of two sizes
      std::vector<bool> inside(1000);
      for (std::int64_t column = 0; column < footprint->columns; ++column)
        for (std::int64_t row = 0; row < footprint->rows; ++row)
          inside[static_cast<std::size_t>(column * footprint->leading_dimension + row)] = true;
      EXPECT_EQ(inside, reached(*transform, 1000));
    }
}

TEST(Footprint, IsNoneWhereGapsAreOfTwoSizesOrResultsCoincide) {
  const auto none = [](const Dims& dims, const Dims& batches) {
    const auto transform = guru({}, dims, batches);
    return transform && !output_footprint(*transform);
  };
  EXPECT_TRUE(none({{3, 100, 100}, {4, 10, 10}, {7, 1, 1}}, {}));
  EXPECT_TRUE(none({{4, 2, 2}, {7, 1, 1}}, {}));
  EXPECT_FALSE(none({{3, 40, 40}, {4, 10, 10}, {7, 1, 1}}, {}));
}

TEST(Footprint, InPlaceHoldsBothSides) {
  const auto common = [](const Request& request, const Dims& dims) {
    return common_footprint(*guru(request, dims, {}));
  };
  EXPECT_EQ(common({Kind::r2c, Precision::f64, -1, true}, {{3, 8, 4}, {7, 1, 1}}), (Footprint{12, 1, 12}));
  EXPECT_EQ(common({Kind::c2r, Precision::f64, 1, true}, {{3, 6, 12}, {7, 1, 1}}), (Footprint{4, 3, 6}));
  EXPECT_FALSE(common({Kind::c2c, Precision::f64, -1, true}, {{3, 8, 9}, {7, 1, 1}}));
  EXPECT_FALSE(common({Kind::r2c, Precision::f64, -1, true}, {{3, 20, 4}, {7, 1, 1}})) << "reals beyond the complex";
  EXPECT_FALSE(common({Kind::r2c, Precision::f64, -1, true}, {{7, 2, 2}}));
  const auto turned = guru({Kind::c2c, Precision::f64, -1, true}, Dims{{4, 1, 6}}, Dims{{6, 4, 1}});
  ASSERT_TRUE(turned);
  EXPECT_EQ(input_footprint(*turned), output_footprint(*turned));
  EXPECT_FALSE(common_footprint(*turned)) << "the same elements, in another order";
}

TEST(Footprint, StridesFollowTheLeadingDimension) {
  const Footprint matrix{7, 4, 9};
  EXPECT_EQ(moved_stride(1, matrix, 8), 1);
  EXPECT_EQ(moved_stride(9, matrix, 8), 8);
  EXPECT_EQ(moved_stride(18, matrix, 8), 16);
  EXPECT_EQ(moved_stride(14, Footprint{28, 1, 28}, 30), 14);
}

}  // namespace
}  // namespace blastoff::fft
