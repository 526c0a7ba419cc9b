#include "blocks/program_memory.h"

#include <sys/mman.h>

#include <cstring>

#include "mapped_memory.h"
#include "rig.h"

namespace blastoff::blocks {
namespace {

class ProgramMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (auto tracker = tracking::open_page_tracker(tracking::TrackerKind::uffd))
      ledger_ = std::make_unique<ledger::Ledger>(std::move(*tracker));
    else
      GTEST_SKIP() << tracker.error();
    watch_ = std::make_unique<Watch>(ledger_.get());
  }

  std::unique_ptr<ProgramMemory> open(const void* begin, std::size_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    auto memory = watch_->open({address, address + bytes});
    EXPECT_DONE(memory);
    if (!memory) return nullptr;
    EXPECT_TRUE((*memory)->exact());
    (void)written(**memory);  // all of it, at first
    return std::move(*memory);
  }

  /// Offsets of bytes that may have been written.
  static std::vector<Span> written(ProgramMemory& memory) {
    std::vector<Span> runs;
    EXPECT_DONE(memory.written(runs));
    for (Span& run : runs) run = {run.begin - memory.bytes().begin, run.end - memory.bytes().begin};
    return runs;
  }

  const std::size_t page_ = platform::page_size();
  std::unique_ptr<ledger::Ledger> ledger_;
  std::unique_ptr<Watch> watch_;
};

TEST_F(ProgramMemoryTest, TellsPagesThatWereWritten) {
  const test::Memory pages(10);
  pages.touch();
  const auto memory = open(pages.page(0), 10 * page_);
  EXPECT_EQ(written(*memory), std::vector<Span>());
  pages.page(3)[5] = 1;
  pages.page(4)[5] = 1;
  EXPECT_EQ(written(*memory), (std::vector<Span>{{3 * page_, 5 * page_}}));
  EXPECT_EQ(written(*memory), std::vector<Span>());
}

TEST_F(ProgramMemoryTest, TellsItsOwnBytesFromItsNeighbours) {
  const test::Memory pages(6);
  pages.touch();
  const auto first = open(pages.page(0) + 100, 2 * page_ + 200);
  const auto second = open(pages.page(2) + 300, 2 * page_);
  pages.page(2)[250] = 1;  // the first one's last bytes
  pages.page(0)[50] = 1;   // nobody's
  EXPECT_EQ(written(*second), std::vector<Span>());
  EXPECT_EQ(written(*first), (std::vector<Span>{{2 * page_ - 100, 2 * page_ + 200}}));
  pages.page(2)[350] = 1;
  EXPECT_EQ(written(*first), std::vector<Span>());
  EXPECT_EQ(written(*second), (std::vector<Span>{{0, page_ - 300}}));
}

TEST_F(ProgramMemoryTest, WhatBlastoffWritesIsNotTold) {
  const test::Memory pages(4);
  pages.touch();
  const auto memory = open(pages.page(0) + 8, 3 * page_);
  memory->begin_overwrite();
  std::memset(pages.page(0) + 8, 7, 3 * page_);
  memory->end_overwrite();
  EXPECT_EQ(written(*memory), std::vector<Span>());
}

TEST_F(ProgramMemoryTest, NoticesDroppedAndReplacedPages) {
  const test::Memory pages(6);
  pages.touch();
  const auto memory = open(pages.page(0), 6 * page_);
  ASSERT_EQ(madvise(pages.page(2), page_, MADV_DONTNEED), 0);
  bool told = false;
  for (const Span run : written(*memory)) told = told || run.contains({2 * page_, 3 * page_});
  EXPECT_TRUE(told);
  ASSERT_NE(mmap(pages.page(1), page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            MAP_FAILED);
  EXPECT_EQ(written(*memory), (std::vector<Span>{{0, 6 * page_}}));
  EXPECT_TRUE(memory->exact()) << "it is watched again";
  EXPECT_EQ(written(*memory), std::vector<Span>());
}

TEST_F(ProgramMemoryTest, MemoryThatWentAwayIsAnError) {
  auto pages = std::make_unique<test::Memory>(6);
  const auto memory = open(pages->page(0), 6 * page_);
  pages.reset();
  std::vector<Span> runs;
  EXPECT_TRUE(fails_with(memory->written(runs), ErrorKind::bad_argument));
}

TEST_F(ProgramMemoryTest, BlocksDoNotOverlap) {
  const test::Memory pages(4);
  const auto memory = open(pages.page(1), page_);
  const auto begin = reinterpret_cast<std::uintptr_t>(pages.page(1));
  EXPECT_TRUE(fails_with(watch_->open({begin - 1, begin + 1}), ErrorKind::bad_argument));
  EXPECT_TRUE(fails_with(watch_->open({begin + page_ - 1, begin + page_ + 1}), ErrorKind::bad_argument));
  EXPECT_TRUE(fails_with(watch_->open({begin + 5, begin + 6}), ErrorKind::bad_argument));
  EXPECT_TRUE(watch_->open({begin - page_, begin}));
  pages.page(1)[0] = 1;
  EXPECT_EQ(written(*memory), (std::vector<Span>{{0, page_}})) << "it is still watched";
}

TEST_F(ProgramMemoryTest, SharedMemoryIsCopiedWhole) {
  void* const shared = mmap(nullptr, 4 * page_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  const auto begin = reinterpret_cast<std::uintptr_t>(shared);
  auto memory = watch_->open({begin, begin + 4 * page_});
  ASSERT_DONE(memory);
  EXPECT_FALSE((*memory)->exact());
  EXPECT_EQ(written(**memory), (std::vector<Span>{{0, 4 * page_}}));
  EXPECT_EQ(written(**memory), (std::vector<Span>{{0, 4 * page_}}));
  munmap(shared, 4 * page_);
}

TEST_F(ProgramMemoryTest, PagesOfABlockAreCopiedAlone) {
  Rig rig({}, true);
  const test::Memory pages(16);
  pages.touch();
  const auto block = rig.block_over(pages.page(0), 16 * page_);
  Counters& counters = rig.engine().counters();
  const auto use = [&] {
    const auto address = block->acquire(0, Access::read, nullptr);
    ASSERT_DONE(address);
    EXPECT_EQ(std::memcmp(at<char>(*address), pages.page(0), 16 * page_), 0);
    ASSERT_DONE(block->release(0, nullptr));
  };
  use();
  EXPECT_EQ(counters.bytes_to_device, 16 * page_);
  use();
  pages.page(9)[1] = 5;
  use();
  EXPECT_EQ(counters.bytes_to_device, 17 * page_);
  EXPECT_EQ(counters.copies_to_device, 2U);
}

TEST_F(ProgramMemoryTest, AWriteWhileADeviceHasTheNewestIsAnError) {
  Rig rig({}, true);
  const test::Memory pages(4);
  pages.touch();
  const auto block = rig.block_over(pages.page(0), 4 * page_);
  ASSERT_DONE(block->acquire(0, Access::update, nullptr));
  ASSERT_DONE(block->release(0, nullptr));
  pages.page(1)[7] = 3;
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_TRUE(fails_with(block->acquire(0, Access::read, nullptr), ErrorKind::conflict));
    EXPECT_TRUE(fails_with(block->acquire(host_place, Access::read, nullptr), ErrorKind::conflict));
  }
  ASSERT_DONE(block->acquire(host_place, Access::write, nullptr));
  ASSERT_DONE(block->release(host_place, nullptr));
  EXPECT_DONE(block->acquire(0, Access::read, nullptr));
  EXPECT_DONE(block->release(0, nullptr));
}

}  // namespace
}  // namespace blastoff::blocks
