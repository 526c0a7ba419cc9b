// The parts of all processes of a grid make up the sub-matrix, and nothing else of them is touched.
#include "scalapack/layout.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <tuple>
#include <vector>

namespace blastoff::scalapack {
namespace {

using operation::Part;

constexpr int nothing = -1;

std::int64_t own_share_of(int count, int block, int process, int first, int processes) {
  return own_share({.count = count,
                    .block = block,
                    .first_block = block,
                    .process = process,
                    .first = first,
                    .processes = processes});
}

TEST(OwnShare, AddsUpToTheWhole) {
  for (const int count : {0, 1, 7, 300, 1000})
    for (const int block : {1, 24, 300})
      for (const int processes : {1, 3, 4})
        for (int first = 0; first < processes; ++first) {
          std::int64_t sum = 0;
          for (int process = 0; process < processes; ++process)
            sum += own_share_of(count, block, process, first, processes);
          EXPECT_EQ(sum, count) << block << " " << processes << " " << first;
        }
  EXPECT_EQ(own_share_of(10, 3, 0, 0, 2), 6);
  EXPECT_EQ(own_share_of(10, 3, 1, 0, 2), 4);
  EXPECT_EQ(own_share_of(10, 3, 1, 1, 2), 6);
}

TEST(OwnRuns, BeginWithABlockOfItsOwnSize) {
  std::vector<std::array<std::int64_t, 3>> runs;
  const Axis axis{.begin = 1, .count = 20, .block = 3, .first_block = 5, .process = 1, .first = 1, .processes = 2};
  axis.each_own_run([&](std::int64_t whole, std::int64_t own, std::int64_t count) {
    runs.push_back({whole, own, count});
  });
  // Blocks of the matrix begin at 0, 5, 8, 11, 14, 17, 20.
  const std::vector<std::array<std::int64_t, 3>> expected{{0, 1, 4}, {7, 5, 3}, {13, 8, 3}, {19, 11, 1}};
  EXPECT_EQ(runs, expected);
}

/// A matrix of 23 x 19 on a 2 x 3 grid, of which 11 x 11 elements from (4, 5) on are used.
struct Distributed {
  static constexpr int order = 11;
  LongDescriptor layout{.rows = 23,
                        .columns = 19,
                        .first_row_block = 2,
                        .first_column_block = 4,
                        .row_block = 3,
                        .column_block = 2,
                        .first_row = 1,
                        .first_column = 2};
  std::vector<std::vector<int>> parts{6};

  static Grid grid_of(int process) { return {.rows = 2, .columns = 3, .row = process / 3, .column = process % 3}; }
  template <class Use>
  void each_process(Part part, const Use& use) {
    for (int process = 0; process < 6; ++process) {
      std::vector<int>& part_of_process = parts[static_cast<std::size_t>(process)];
      DistributedMatrix matrix{.layout = layout,
                               .row = 4,
                               .column = 5,
                               .rows = order,
                               .columns = order,
                               .element_bytes = sizeof(int),
                               .part = part};
      const Grid grid = grid_of(process);
      matrix.layout.leading_dimension = static_cast<int>(own_share(matrix.all_rows(grid))) + 2;
      part_of_process.resize(static_cast<std::size_t>(matrix.layout.leading_dimension) * 19, nothing);
      matrix.address = reinterpret_cast<std::byte*>(part_of_process.data());
      use(matrix, grid);
    }
  }
};

WholeMatrix whole(std::vector<int>& elements) {
  return {reinterpret_cast<std::byte*>(elements.data()), Distributed::order + 1};
}

/// By the part of the matrix, and by the number of workers.
class Copies : public testing::TestWithParam<std::tuple<Part, int>> {
 protected:
  Part part() const { return std::get<0>(GetParam()); }
  platform::WorkerPool* workers() const { return workers_.get(); }

 private:
  const std::unique_ptr<platform::WorkerPool> workers_ = std::get<1>(GetParam()) > 0
                                                             ? platform::create_worker_pool(std::get<1>(GetParam()))
                                                             : nullptr;
};

TEST_P(Copies, BringEachElementToItsPlaceAndBack) {
  constexpr std::size_t stride = Distributed::order + 1;
  std::vector<int> original(stride * Distributed::order);
  for (std::size_t i = 0; i < original.size(); ++i) original[i] = static_cast<int>(i);
  std::vector<int> back(original.size(), nothing);
  Distributed distributed;
  distributed.each_process(part(), [&](const DistributedMatrix& matrix, const Grid& grid) {
    copy_from(whole(original), matrix, grid, workers());
  });
  int used = 0;
  for (const std::vector<int>& part : distributed.parts)
    for (const int element : part) used += element == nothing ? 0 : 1;
  EXPECT_EQ(used, part() == Part::full ? 121 : 66) << "each element has one owner";
  distributed.each_process(part(), [&](const DistributedMatrix& matrix, const Grid& grid) {
    copy_to(whole(back), matrix, grid, workers());
  });
  for (std::size_t i = 0; i < original.size(); ++i) {
    const std::size_t row = i % stride;
    const std::size_t column = i / stride;
    const bool in_part =
        row < Distributed::order && (part() == Part::full || (part() == Part::lower ? row >= column : row <= column));
    EXPECT_EQ(back[i], in_part ? original[i] : nothing) << i;
  }
}

TEST_P(Copies, OfChangesWriteWhatDiffers) {
  std::vector<int> there((Distributed::order + 1) * Distributed::order);
  for (std::size_t i = 0; i < there.size(); ++i) there[i] = static_cast<int>(i);
  const std::vector<int> original = there;
  Distributed distributed;
  distributed.each_process(part(), [&](const DistributedMatrix& matrix, const Grid& grid) {
    copy_from(whole(there), matrix, grid, workers());
  });
  const auto copy_changes = [&] {
    std::vector<Columns> changes;
    distributed.each_process(part(), [&](const DistributedMatrix& matrix, const Grid& grid) {
      const Columns changed = copy_changes_to(whole(there), matrix, grid, workers());
      if (!changed.empty()) changes.push_back(changed);
    });
    return changes;
  };
  EXPECT_TRUE(copy_changes().empty());
  EXPECT_EQ(there, original);
  const std::size_t diagonal = 7 * (Distributed::order + 1) + 7;
  there[diagonal] = nothing;
  const std::vector<Columns> changes = copy_changes();
  ASSERT_EQ(changes.size(), 1U) << "the element has one owner";
  EXPECT_EQ(changes[0].begin, 7);
  EXPECT_EQ(changes[0].end, 8);
  EXPECT_EQ(there, original);
}

INSTANTIATE_TEST_SUITE_P(Parts, Copies,
                         testing::Combine(testing::Values(Part::full, Part::lower, Part::upper),
                                          testing::Values(0, 2)));

}  // namespace
}  // namespace blastoff::scalapack
