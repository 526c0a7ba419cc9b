// Blocks in parts: what has been copied is used while the rest is on its way.
#include <algorithm>
#include <numeric>
#include <vector>

#include "blocks/block.h"
#include "rig.h"

namespace blastoff::blocks {
namespace {

constexpr std::size_t length = 10000;
constexpr std::size_t bytes = length * sizeof(int);
constexpr std::size_t part = 4096;

/// Each element is its own number more than `first`.
void number_from(Block& block, int place, int first) {
  const auto address = block.acquire(place, Access::write, nullptr);
  ASSERT_DONE(address);
  std::iota(at<int>(*address), at<int>(*address) + length, first);
  ASSERT_DONE(block.release(place, nullptr));
}

bool numbered_from(const int* elements, std::size_t begin, std::size_t end, int first) {
  for (std::size_t i = begin; i < end; ++i)
    if (elements[i] != first + static_cast<int>(i)) return false;
  return true;
}

void expect_numbers(Block& block, int place, int first) {
  const auto address = block.acquire(place, Access::read, nullptr);
  ASSERT_DONE(address);
  EXPECT_TRUE(numbered_from(at<int>(*address), 0, length, first));
  ASSERT_DONE(block.release(place, nullptr));
}

TEST(Parts, EachIsThereWhenItWasAwaited) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Rig rig({.delayed = true, .seed = seed});
    const auto block = rig.block(bytes);
    number_from(*block, 0, 7);
    const auto address = block->acquire_parts(part);
    ASSERT_DONE(address);
    for (std::size_t end = part; end < bytes + part; end += part) {
      ASSERT_DONE(block->await_part(std::min(end, bytes)));
      EXPECT_TRUE(numbered_from(at<int>(*address), (end - part) / sizeof(int), std::min(end, bytes) / sizeof(int), 7));
    }
    EXPECT_EQ(rig.engine().counters().copies_from_device, 1U);
    EXPECT_EQ(rig.engine().counters().bytes_from_device, bytes);
    EXPECT_TRUE(fails_with(block->acquire(host_place, Access::write, nullptr), ErrorKind::conflict));
    ASSERT_DONE(block->release(host_place, nullptr));
    number_from(*block, host_place, 8);
    expect_numbers(*block, 0, 8);
  }
}

TEST(Parts, OthersReadTheWholeMeanwhile) {
  Rig rig({.delayed = true});
  const auto block = rig.block(bytes);
  number_from(*block, 0, 1);
  ASSERT_DONE(block->acquire_parts(part));
  expect_numbers(*block, host_place, 1);
  const auto again = block->acquire_parts(part);
  ASSERT_DONE(again);
  EXPECT_TRUE(numbered_from(at<int>(*again), 0, length, 1)) << "it is there already";
  ASSERT_DONE(block->release(host_place, nullptr));
  ASSERT_DONE(block->await_part(bytes));
  ASSERT_DONE(block->release(host_place, nullptr));
  EXPECT_EQ(rig.engine().counters().copies_from_device, 1U);
}

TEST(Parts, AreNotReadWhereThereIsNothing) {
  Rig rig({});
  const auto block = rig.block(bytes);
  EXPECT_TRUE(fails_with(block->acquire_parts(part), ErrorKind::nothing_there));
  ASSERT_DONE(block->acquire(0, Access::write, nullptr));
  EXPECT_TRUE(fails_with(block->acquire_parts(part), ErrorKind::conflict));
  ASSERT_DONE(block->release(0, nullptr));
}

TEST(Parts, AreForwardedWhileOthersAreWritten) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Rig rig({.delayed = true, .seed = seed});
    const auto block = rig.block(bytes);
    const auto address = block->acquire(host_place, Access::write, nullptr);
    ASSERT_DONE(address);
    for (std::size_t begin = 0; begin < bytes; begin += part) {
      const std::size_t end = std::min(begin + part, bytes);
      std::iota(at<int>(*address) + begin / sizeof(int), at<int>(*address) + end / sizeof(int),
                static_cast<int>(begin / sizeof(int)) + 5);
      EXPECT_FALSE(block->is_current(0));
      ASSERT_DONE(block->forward_part(0, {begin, end}));
    }
    EXPECT_TRUE(block->is_current(0));
    ASSERT_DONE(block->release(host_place, nullptr));
    // The copies still read host memory that is written next.
    number_from(*block, host_place, 6);
    expect_numbers(*block, 0, 6);
    EXPECT_EQ(rig.engine().counters().copies_to_device, 2U);
    EXPECT_EQ(rig.engine().counters().bytes_to_device, 2 * bytes);
  }
}

TEST(Parts, HostMemoryServesOthersWhenTheyHaveLeft) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Rig rig({.delayed = true, .seed = seed});
    const auto block = rig.block(bytes);
    const auto address = block->acquire(host_place, Access::write, nullptr);
    ASSERT_DONE(address);
    std::iota(at<int>(*address), at<int>(*address) + length, 1);
    for (std::size_t begin = 0; begin < bytes; begin += part)
      ASSERT_DONE(block->forward_part(0, {begin, std::min(begin + part, bytes)}));
    ASSERT_DONE(block->release(host_place, nullptr));
    ASSERT_DONE(block->evict(host_place));
    const auto other = rig.block(bytes);
    number_from(*other, host_place, 2);
    EXPECT_EQ(rig.engine().memory_counts().host.hits, 1U) << "in the same memory";
    expect_numbers(*block, 0, 1);
  }
}

TEST(Parts, WhatWasNotForwardedIsCopiedWhenItIsUsed) {
  Rig rig({});
  const auto block = rig.block(bytes);
  const auto address = block->acquire(host_place, Access::write, nullptr);
  ASSERT_DONE(address);
  std::iota(at<int>(*address), at<int>(*address) + length, 3);
  ASSERT_DONE(block->forward_part(0, {part, 2 * part}));
  ASSERT_DONE(block->release(host_place, nullptr));
  EXPECT_FALSE(block->is_current(0));
  expect_numbers(*block, 0, 3);
  EXPECT_EQ(rig.engine().counters().bytes_to_device, bytes) << "nothing twice";
}

TEST(Parts, AreForwardedOfWhatIsHeldAlone) {
  Rig rig({});
  const auto block = rig.block(bytes);
  EXPECT_TRUE(fails_with(block->forward_part(0, {0, part}), ErrorKind::not_held));
  ASSERT_DONE(block->acquire(host_place, Access::write, nullptr));
  EXPECT_TRUE(fails_with(block->forward_part(0, {0, bytes + 1}), ErrorKind::bad_argument));
  EXPECT_DONE(block->forward_part(host_place, {0, part}));
  EXPECT_DONE(block->forward_part(0, {part, part}));
  ASSERT_DONE(block->release(host_place, nullptr));
  EXPECT_EQ(rig.engine().counters().bytes_to_device, 0U);
}

TEST(Parts, AnAbandonedBlockHasNoContent) {
  Rig rig({});
  const auto block = rig.block(bytes);
  number_from(*block, 0, 1);
  EXPECT_TRUE(fails_with(block->abandon(host_place), ErrorKind::not_held));
  ASSERT_DONE(block->acquire(host_place, Access::write, nullptr));
  ASSERT_DONE(block->forward_part(0, {0, part}));
  EXPECT_TRUE(fails_with(block->abandon(0), ErrorKind::not_held));
  ASSERT_DONE(block->abandon(host_place));
  for (const int place : {host_place, 0})
    EXPECT_TRUE(fails_with(block->acquire(place, Access::read, nullptr), ErrorKind::nothing_there));
  number_from(*block, host_place, 2);
  expect_numbers(*block, 0, 2);
}

TEST(Parts, OfTheProgramsMemoryAreItsContent) {
  Rig rig({}, true);
  std::vector<int> memory(length);
  const auto block = rig.block_over(memory.data(), bytes);
  number_from(*block, 0, 4);
  const auto address = block->acquire_parts(part);
  ASSERT_DONE(address);
  ASSERT_DONE(block->await_part(part));
  EXPECT_TRUE(numbered_from(memory.data(), 0, length, 4));
  ASSERT_DONE(block->release(host_place, nullptr));
  const auto written = block->acquire(host_place, Access::write, nullptr);
  ASSERT_DONE(written);
  std::iota(memory.begin(), memory.end(), 5);
  ASSERT_DONE(block->forward_part(0, {0, bytes}));
  ASSERT_DONE(block->release(host_place, nullptr));
  memory[length / 2] = 0;
  memory[length / 2] += static_cast<int>(length / 2) + 5;
  expect_numbers(*block, 0, 5);
  ASSERT_DONE(block->finish());
}

/// Writes it on the host and forwards all of it.
void forward_numbers_from(Block& block, int first) {
  const auto written = block.acquire(host_place, Access::write, nullptr);
  ASSERT_DONE(written);
  std::iota(at<int>(*written), at<int>(*written) + length, first);
  for (std::size_t begin = 0; begin < bytes; begin += part)
    (void)block.forward_part(0, {begin, std::min(begin + part, bytes)});
  ASSERT_DONE(block.release(host_place, nullptr));
}

/// Where a part is said to be there, it is right.
void expect_numbers_in_parts(Block& block, int first) {
  const auto address = block.acquire_parts(part);
  if (!address) return;
  for (std::size_t end = part; end < bytes + part; end += part) {
    if (!block.await_part(std::min(end, bytes))) break;
    EXPECT_TRUE(
        numbered_from(at<int>(*address), (end - part) / sizeof(int), std::min(end, bytes) / sizeof(int), first));
  }
  ASSERT_DONE(block.release(host_place, nullptr));
}

/// Whichever copy or wait fails: an error, or the right content.
TEST(Parts, FaultsLeaveNoWrongContent) {
  for (const char* const operation : {"to-host", "to-device", "synchronize", "allocate"}) {
    for (int call = 1; call <= 12; ++call) {
      for (const char* const kind : {"memory", "lost"}) {
        const std::string fault = std::string(operation) + ":" + std::to_string(call) + ":" + kind;
        SCOPED_TRACE(fault);
        Rig rig({.fault = fault});
        const auto block = rig.block(bytes);
        forward_numbers_from(*block, 9);
        const auto there = block->acquire(0, Access::update, nullptr);
        if (!there) {
          expect_numbers(*block, host_place, 9);
          continue;
        }
        EXPECT_TRUE(numbered_from(at<int>(*there), 0, length, 9));
        std::iota(at<int>(*there), at<int>(*there) + length, 10);
        ASSERT_DONE(block->release(0, nullptr));
        expect_numbers_in_parts(*block, 10);
        const auto home = block->acquire(host_place, Access::read, nullptr);
        if (!home) continue;
        EXPECT_TRUE(numbered_from(at<int>(*home), 0, length, 10));
      }
    }
  }
}

TEST(Parts, WithoutIntentsAReaderCountsAsAWriter) {
  Rig rig({});
  Options options;
  options.intents = false;
  rig.engine().set_options(options);
  const auto block = rig.block(bytes);
  number_from(*block, host_place, 1);
  expect_numbers(*block, 0, 1);
  EXPECT_FALSE(block->is_current(host_place));
  expect_numbers(*block, host_place, 1);
  EXPECT_EQ(rig.engine().counters().copies_from_device, 1U);
}

}  // namespace
}  // namespace blastoff::blocks
