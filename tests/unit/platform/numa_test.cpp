// The functions for NUMA that a machine with one node can test. tests/machine tests moving from one node to another.
#include "platform/numa.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "mapped_memory.h"
#include "platform/page_moves.h"

namespace blastoff::platform {
namespace {

using test::Memory;

constexpr int no_such_node = 900;

class NumaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto nodes = numa_nodes();
    if (nodes.empty()) GTEST_SKIP() << "this kernel knows no NUMA nodes";
    for (const NumaNode& node : nodes)
      if (node.has_cpus && node.allowed && node.bytes > 0) home_ = node.id;
    ASSERT_GE(home_, 0);
  }

  Moved move(Span span, int node, bool fill = false) { return move_to_node({&span, 1}, node, fill); }

  int home_ = -1;
  const std::size_t page_ = page_size();
};

TEST_F(NumaTest, NodesHaveMemoryAndCpus) {
  std::size_t bytes = 0;
  for (const NumaNode& node : numa_nodes()) {
    EXPECT_LE(node.free_bytes, node.bytes) << node.id;
    bytes += node.bytes;
  }
  EXPECT_GT(bytes, std::size_t{64} << 20);
  EXPECT_TRUE(numa_node(home_).has_value());
  EXPECT_FALSE(numa_node(no_such_node).has_value());
}

TEST_F(NumaTest, PagesAtHomeStayThereAndThoseThatAreNotThereAreCounted) {
  const Memory memory(8);
  const Span span = memory.span();
  std::memset(memory.page(0), 1, 5 * page_);
  EXPECT_EQ(bytes_on_node({span.begin, span.begin + 5 * page_}, home_), 5 * page_);
  const Moved moved = move(span, home_);
  EXPECT_EQ(moved.there, 5 * page_);
  EXPECT_EQ(moved.moved, 0U);
  EXPECT_EQ(moved.filled, 0U);
  EXPECT_EQ(moved.left[static_cast<std::size_t>(LeftBehind::absent)], 3 * page_);
  EXPECT_EQ(moved.on_node() + moved.left_bytes(), span.bytes());
}

TEST_F(NumaTest, FillsWhatIsAbsentAndNothingElse) {
  const Memory memory(8);
  const Span span = memory.span();
  memory.page(0)[2 * page_] = 7;
  const Moved moved = move(span, home_, true);
  EXPECT_EQ(moved.there, page_);
  EXPECT_EQ(moved.filled, 7 * page_);
  EXPECT_EQ(moved.left_bytes(), 0U);
  EXPECT_EQ(memory.page(0)[2 * page_], 7);
  for (std::size_t i = 0; i < span.bytes(); ++i) ASSERT_EQ(memory.page(0)[i], i == 2 * page_ ? 7 : 0) << i;
  EXPECT_EQ(bytes_on_node(span, home_), span.bytes());
}

TEST_F(NumaTest, SeveralSpansAreOneMove) {
  const Memory memory(9);
  const Span span = memory.span();
  std::memset(memory.page(0), 1, span.bytes());
  const Span spans[] = {{span.begin, span.begin + 2 * page_}, {span.begin + 4 * page_, span.begin + 5 * page_}};
  EXPECT_EQ(move_to_node(spans, home_, true).there, 3 * page_);
}

TEST_F(NumaTest, FillingLeavesTheGapsBetweenSpansAlone) {
  const Memory memory(9);
  const Span span = memory.span();
  const Span spans[] = {{span.begin, span.begin + 2 * page_}, {span.begin + 4 * page_, span.begin + 5 * page_}};
  EXPECT_EQ(move_to_node(spans, home_, true).filled, 3 * page_);
  EXPECT_EQ(bytes_on_node(span, home_), 3 * page_);
}

TEST_F(NumaTest, ANodeThatIsNoneForbidsEverythingAndHarmsNothing) {
  const Memory memory(4);
  std::memset(memory.page(0), 3, memory.span().bytes());
  const Moved moved = move(memory.span(), no_such_node, true);
  EXPECT_EQ(moved.left[static_cast<std::size_t>(LeftBehind::forbidden)], memory.span().bytes());
  EXPECT_EQ(moved.on_node(), 0U);
  for (std::size_t i = 0; i < memory.span().bytes(); ++i) ASSERT_EQ(memory.page(0)[i], 3);
}

TEST_F(NumaTest, TransparentHugePagesAreAWordOfTheKernels) {
  EXPECT_THAT(transparent_huge_pages(), ::testing::AnyOf("always", "madvise", "never", ""));
  if (transparent_huge_pages().empty()) GTEST_SKIP() << "no huge pages";
  EXPECT_GT(huge_page_size(), page_size());
}

}  // namespace
}  // namespace blastoff::platform
