// Single blocks: what is copied when, and what is refused.
#include "blocks/block.h"

#include <algorithm>
#include <set>

#include "rig.h"

namespace blastoff::blocks {
namespace {

constexpr std::size_t kilobyte = 1024;

void fill(Block& block, int place, int value) {
  const auto address = block.acquire(place, Access::write, nullptr);
  ASSERT_DONE(address);
  std::fill_n(at<int>(*address), block.bytes() / sizeof(int), value);
  ASSERT_DONE(block.release(place, nullptr));
}

/// The value that all of it has; -1: not one.
int value_at(Block& block, int place) {
  const auto address = block.acquire(place, Access::read, nullptr);
  EXPECT_DONE(address);
  if (!address) return -1;
  const int* const values = at<int>(*address);
  const int first = values[0];
  const bool same =
      std::all_of(values, values + block.bytes() / sizeof(int), [&](int value) { return value == first; });
  EXPECT_DONE(block.release(place, nullptr));
  return same ? first : -1;
}

TEST(Block, NothingIsCopiedTwice) {
  Rig rig({.devices = 2});
  Counters& counters = rig.engine().counters();
  const auto block = rig.block(kilobyte);
  fill(*block, host_place, 1);
  EXPECT_EQ(value_at(*block, 0), 1);
  EXPECT_EQ(value_at(*block, 0), 1);
  EXPECT_EQ(counters.copies_to_device, 1U);
  EXPECT_EQ(value_at(*block, 1), 1);
  EXPECT_EQ(counters.copies_to_device, 1U);
  EXPECT_EQ(counters.copies_between_devices, 1U) << "a device is preferred to the host";
  EXPECT_EQ(counters.copies_from_device, 0U);
  fill(*block, 1, 2);
  EXPECT_EQ(counters.copies_between_devices, 1U) << "what is written is not fetched";
  EXPECT_EQ(value_at(*block, 0), 2);
  EXPECT_EQ(counters.copies_between_devices, 2U);
  EXPECT_EQ(counters.bytes_between_devices, 2 * kilobyte);
  EXPECT_FALSE(block->is_current(host_place));
  EXPECT_EQ(value_at(*block, host_place), 2);
  EXPECT_EQ(counters.copies_to_device, 1U);
  EXPECT_EQ(counters.copies_from_device, 1U);
  EXPECT_EQ(counters.bytes_from_device, kilobyte);
}

/// One for both directions, or half of them for each.
TEST(Block, StreamsOfCopies) {
  Rig rig({.streams = 5});
  CopyQueues& copies = rig.engine().site(0).copies();
  std::set<SharedQueue*> there;
  std::set<SharedQueue*> back;
  for (int copy = 0; copy < 12; ++copy) {
    there.insert(&copies.to_device());
    back.insert(&copies.from_device());
  }
  EXPECT_EQ(there.size(), 3U);
  EXPECT_EQ(back.size(), 2U);
  there.merge(back);
  EXPECT_EQ(there.size(), 5U);
  copies.set_count(1);
  EXPECT_EQ(&copies.to_device(), &copies.from_device());
}

TEST(Block, BetweenDevicesThroughTheHostWhereNothingElseIsPossible) {
  const auto by_option = [](Rig& rig) {
    Options options;
    options.direct = 0;
    rig.engine().set_options(options);
  };
  for (const Direct direct : {Direct::kept, Direct::refused, Direct::broken}) {
    Rig rig({.devices = 2, .direct = direct});
    if (direct == Direct::kept) by_option(rig);
    const Counters& counters = rig.engine().counters();
    const auto block = rig.block(kilobyte);
    fill(*block, 1, 2);
    EXPECT_EQ(value_at(*block, 0), 2);
    EXPECT_EQ(counters.copies_between_devices, 0U);
    EXPECT_EQ(counters.copies_from_device, 1U) << "the host has it then";
    EXPECT_EQ(counters.copies_to_device, 1U);
    EXPECT_EQ(value_at(*block, host_place), 2);
    EXPECT_EQ(counters.copies_from_device, 1U);
  }
}

/// The first after the trial. It has changed nothing: the block takes the other road.
TEST(Block, ADirectCopyThatIsRefusedGoesThroughTheHost) {
  Rig rig({.devices = 2, .fault = "between:2:unsupported"});
  const Counters& counters = rig.engine().counters();
  const auto block = rig.block(kilobyte);
  fill(*block, 1, 2);
  EXPECT_EQ(value_at(*block, 0), 2);
  EXPECT_EQ(counters.copies_between_devices, 0U);
  EXPECT_EQ(counters.copies_to_device, 1U);
  fill(*block, 1, 3);
  EXPECT_EQ(value_at(*block, 0), 3);
  EXPECT_EQ(counters.copies_between_devices, 1U) << "that one copy alone";
}

TEST(Block, ADeviceThatFailsDuringADirectCopyLeavesTheOtherWhole) {
  Rig rig({.devices = 2, .fault = "between:2:lost"});
  const auto block = rig.block(kilobyte);
  fill(*block, 1, 2);
  EXPECT_TRUE(fails_with(block->acquire(0, Access::read, nullptr), ErrorKind::device_lost));
  EXPECT_EQ(value_at(*block, 1), 2);
  EXPECT_EQ(value_at(*block, host_place), 2);
}

TEST(Block, WithoutIntentsEverythingIsFetched) {
  Rig rig({});
  Options options;
  options.intents = false;
  rig.engine().set_options(options);
  const auto block = rig.block(kilobyte);
  fill(*block, host_place, 1);
  fill(*block, 0, 2);
  EXPECT_EQ(rig.engine().counters().copies_to_device, 1U);
  EXPECT_EQ(value_at(*block, host_place), 2);
}

TEST(Block, ReadersShareAndWritersExclude) {
  Rig rig({.devices = 2});
  const auto block = rig.block(kilobyte);
  fill(*block, host_place, 1);
  ASSERT_DONE(block->acquire(0, Access::read, nullptr));
  ASSERT_DONE(block->acquire(0, Access::read, nullptr));
  ASSERT_DONE(block->acquire(host_place, Access::read, nullptr));
  EXPECT_TRUE(fails_with(block->acquire(1, Access::update, nullptr), ErrorKind::conflict));
  EXPECT_TRUE(fails_with(block->evict(0), ErrorKind::conflict));
  EXPECT_TRUE(fails_with(block->finish(), ErrorKind::conflict));
  EXPECT_TRUE(fails_with(block->release(1, nullptr), ErrorKind::not_held));
  ASSERT_DONE(block->release(0, nullptr));
  ASSERT_DONE(block->release(0, nullptr));
  EXPECT_TRUE(fails_with(block->release(0, nullptr), ErrorKind::not_held));
  ASSERT_DONE(block->release(host_place, nullptr));
  ASSERT_DONE(block->acquire(1, Access::update, nullptr));
  EXPECT_TRUE(fails_with(block->acquire(1, Access::update, nullptr), ErrorKind::conflict));
  EXPECT_TRUE(fails_with(block->acquire(host_place, Access::read, nullptr), ErrorKind::conflict));
  EXPECT_TRUE(fails_with(block->prefetch(0), ErrorKind::conflict));
  EXPECT_TRUE(fails_with(block->release(0, nullptr), ErrorKind::not_held));
  ASSERT_DONE(block->release(1, nullptr));
  ASSERT_DONE(block->finish());
}

TEST(Block, NothingIsReadBeforeItIsWritten) {
  Rig rig({});
  const auto block = rig.block(kilobyte);
  EXPECT_TRUE(fails_with(block->acquire(0, Access::read, nullptr), ErrorKind::nothing_there));
  EXPECT_TRUE(fails_with(block->acquire(host_place, Access::update, nullptr), ErrorKind::nothing_there));
  EXPECT_FALSE(block->is_current(host_place));
  EXPECT_DONE(block->prefetch(0));
  EXPECT_DONE(block->evict(0));
}

TEST(Block, HintsMoveIt) {
  Rig rig({});
  Counters& counters = rig.engine().counters();
  const auto block = rig.block(kilobyte);
  fill(*block, host_place, 3);
  ASSERT_DONE(block->prefetch(0));
  EXPECT_TRUE(block->is_current(0));
  EXPECT_EQ(counters.copies_to_device, 1U);
  fill(*block, 0, 4);
  EXPECT_EQ(block->newest(), 0);
  EXPECT_FALSE(block->is_current(host_place));
  ASSERT_DONE(block->evict(0));
  EXPECT_EQ(counters.copies_from_device, 1U);
  EXPECT_EQ(block->newest(), host_place);
  EXPECT_EQ(value_at(*block, host_place), 4);
  ASSERT_DONE(block->evict(host_place)) << "the only version stays";
  EXPECT_EQ(value_at(*block, 0), 4);
  ASSERT_DONE(block->evict(host_place));
  EXPECT_FALSE(block->is_current(host_place));
  EXPECT_EQ(value_at(*block, 0), 4);
}

TEST(Block, TheOnesUsedLongestAgoMakeRoom) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  Rig rig({.device_memory = 4 * bytes});
  std::vector<std::unique_ptr<Block>> blocks;
  for (int i = 0; i < 4; ++i) {
    blocks.push_back(rig.block(bytes));
    fill(*blocks.back(), 0, i);
  }
  EXPECT_EQ(value_at(*blocks[0], 0), 0);
  blocks.push_back(rig.block(bytes));
  fill(*blocks.back(), 0, 4);
  EXPECT_TRUE(blocks[0]->is_current(0)) << "it was used since";
  EXPECT_FALSE(blocks[1]->is_current(0));
  EXPECT_EQ(rig.engine().counters().evictions, 1U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(value_at(*blocks[static_cast<std::size_t>(i)], host_place), i);
}

TEST(Block, WhatIsHeldStays) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  Rig rig({.device_memory = 2 * bytes});
  const auto first = rig.block(bytes);
  const auto second = rig.block(bytes);
  const auto third = rig.block(bytes);
  ASSERT_DONE(first->acquire(0, Access::write, nullptr));
  ASSERT_DONE(second->acquire(0, Access::write, nullptr));
  EXPECT_TRUE(fails_with(third->acquire(0, Access::write, nullptr), ErrorKind::out_of_memory));
  fill(*third, host_place, 3);
  ASSERT_DONE(second->release(0, nullptr));
  EXPECT_EQ(value_at(*third, 0), 3) << "after the error it can be tried again";
}

TEST(Block, OptionsLimitMemory) {
  Rig rig({});
  Options options;
  options.device_memory = 100 * kilobyte;
  rig.engine().set_options(options);
  const auto block = rig.block(200 * kilobyte);
  EXPECT_TRUE(fails_with(block->acquire(0, Access::write, nullptr), ErrorKind::out_of_memory));
  fill(*block, host_place, 1);
  EXPECT_EQ(value_at(*block, host_place), 1);
}

TEST(Block, AFailedWriteLeavesNothing) {
  Rig rig({});
  const auto block = rig.block(kilobyte);
  fill(*block, 0, 1);
  block->forget();
  EXPECT_TRUE(fails_with(block->acquire(0, Access::read, nullptr), ErrorKind::nothing_there));
}

TEST(Block, AVersionThatWasOnALostDeviceIsNotReplacedByAnOlderOne) {
  Rig rig({.devices = 2, .fault = "to-host:1:lost"});
  const auto alone = rig.block(kilobyte);
  const auto at_home = rig.block(kilobyte);
  fill(*at_home, host_place, 1);
  EXPECT_EQ(value_at(*at_home, 0), 1);
  fill(*alone, host_place, 2);
  fill(*alone, 0, 3);
  EXPECT_TRUE(fails_with(alone->acquire(host_place, Access::read, nullptr), ErrorKind::device_lost));
  EXPECT_TRUE(fails_with(alone->acquire(1, Access::read, nullptr), ErrorKind::device_lost));
  EXPECT_TRUE(fails_with(alone->acquire(0, Access::write, nullptr), ErrorKind::device_lost));
  EXPECT_EQ(value_at(*at_home, host_place), 1);
  EXPECT_EQ(value_at(*at_home, 1), 1);
  fill(*alone, host_place, 4);
  EXPECT_EQ(value_at(*alone, 1), 4);
}

TEST(Block, AFailedCopyCanBeMadeAgain) {
  for (const char* fault : {"to-device:1:memory", "record:1:memory", "event:1:memory", "queue:1:memory",
                            "allocate:1:memory", "wait:1:memory"}) {
    Rig rig({.fault = fault});
    const auto block = rig.block(kilobyte);
    fill(*block, host_place, 5);
    const auto first = block->acquire(0, Access::read, nullptr);
    if (first) {
      ASSERT_DONE(block->release(0, nullptr));
    } else {
      EXPECT_TRUE(fails_with(first, ErrorKind::out_of_memory)) << fault;
    }
    EXPECT_EQ(value_at(*block, 0), 5) << fault;
  }
}

TEST(Block, WorkOfStreamsIsInOrder) {
  Rig rig({.delayed = true});
  const auto producer = rig.stream(0);
  const auto consumer = rig.stream(0);
  const auto block = rig.block(kilobyte);
  std::vector<int> results(40 * kilobyte / sizeof(int));
  std::vector<int> sources(results.size());
  constexpr std::size_t count = kilobyte / sizeof(int);
  const device::Block all{kilobyte, 1, kilobyte, kilobyte};
  for (int i = 0; i < 40; ++i) {
    int* const source = &sources[static_cast<std::size_t>(i) * count];
    int* const result = &results[static_cast<std::size_t>(i) * count];
    std::fill_n(source, count, i);
    const auto written = block->acquire(0, Access::write, producer.get());
    ASSERT_DONE(written);
    ASSERT_TRUE(producer->copy_to_device(*written, source, all));
    ASSERT_DONE(block->release(0, producer.get()));
    if (i % 3 == 0) {
      EXPECT_EQ(value_at(*block, host_place), i);
    }
    const auto read = block->acquire(0, Access::read, consumer.get());
    ASSERT_DONE(read);
    ASSERT_TRUE(consumer->copy_to_host(result, *read, all));
    ASSERT_DONE(block->release(0, consumer.get()));
  }
  ASSERT_TRUE(consumer->synchronize());
  for (std::size_t i = 0; i < results.size(); ++i) ASSERT_EQ(results[i], static_cast<int>(i / count));
}

TEST(Block, OneThatEndsLeavesItsMemoryInUse) {
  Rig rig({.delayed = true});
  const auto stream = rig.stream(0);
  const device::Block all{kilobyte, 1, kilobyte, kilobyte};
  std::vector<int> sources(20 * kilobyte / sizeof(int));
  std::vector<int> results(sources.size());
  constexpr std::size_t count = kilobyte / sizeof(int);
  for (int i = 0; i < 20; ++i) {
    const auto block = rig.block(kilobyte);
    std::fill_n(&sources[static_cast<std::size_t>(i) * count], count, i);
    {
      const auto home = block->acquire(host_place, Access::write, nullptr);
      ASSERT_DONE(home);
      std::fill_n(at<int>(*home), count, i);
      ASSERT_DONE(block->release(host_place, nullptr));
    }
    const auto there = block->acquire(0, Access::read, stream.get());
    ASSERT_DONE(there);
    ASSERT_TRUE(stream->copy_to_host(&results[static_cast<std::size_t>(i) * count], *there, all));
    ASSERT_DONE(block->release(0, stream.get()));
  }
  ASSERT_TRUE(stream->synchronize());
  EXPECT_EQ(results, sources);
  EXPECT_GT(rig.engine().memory_counts().device.hits, 10U);
}

}  // namespace
}  // namespace blastoff::blocks
