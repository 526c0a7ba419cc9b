// Which slices of what several parts of a call read each of them brings, and where the others find them.
#include "residency/sharing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "blas_front_end.h"
#include "mapped_memory.h"
#include "platform/interval_set.h"
#include "played_tracker.h"
#include "product_call.h"
#include "residency/footprint.h"

namespace {

using namespace blastoff;
using operation::Operation;
using platform::Span;
using residency::Sharing;

class SharingTest : public testing::Test {
 protected:
  Operation product(std::int64_t m, std::int64_t n, std::int64_t k) {
    return test::product_call({memory_.page(0), memory_.page(100), memory_.page(200)}, m, n, k);
  }

  static std::vector<std::span<const Operation>> spans_of(const std::vector<std::vector<Operation>>& parts) {
    return {parts.begin(), parts.end()};
  }

  static std::size_t bytes(const std::vector<Sharing::Slice>& slices) {
    std::size_t sum = 0;
    for (const Sharing::Slice& slice : slices) sum += slice.pages.bytes();
    return sum;
  }

  test::Memory memory_{300};
};

/// Cut by columns of the result, A goes to all, and a part of B to each.
TEST_F(SharingTest, EveryPageOfACommonMatrixIsBroughtByOnePart) {
  const auto parts = operation::parts(product(200, 240, 200), 3);
  ASSERT_EQ(parts.size(), 3U);
  const Sharing sharing(spans_of(parts));
  const Span a = platform::outward_to_pages(residency::bounds(parts[0][0].operands()[0]));
  std::size_t own = 0;
  std::array<Span, 3> all;  // by who brings it
  platform::IntervalSet brought;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    platform::IntervalSet others;
    for (const Sharing::Slice& slice : sharing.brought_by_others(part, 0)) {
      EXPECT_TRUE(a.contains(slice.pages)) << "nobody else reads this part of B";
      EXPECT_NE(slice.part, part);
      EXPECT_TRUE(all[slice.part].empty() || all[slice.part] == slice.pages) << "all know the same slices";
      all[slice.part] = slice.pages;
      others.add(slice.pages);
    }
    others.each_gap(a, [&](Span span) {
      own += span.bytes();
      brought.add(span);
      EXPECT_NEAR(static_cast<double>(span.bytes()), static_cast<double>(a.bytes()) / 3, 4096);
    });
  }
  EXPECT_EQ(own, a.bytes());
  EXPECT_TRUE(brought.contains(a));
}

TEST_F(SharingTest, WhatOnePartAloneReadsItBringsItself) {
  const std::vector<std::vector<Operation>> parts = {{product(100, 100, 100)}, {product(90, 100, 100)}};
  const Sharing sharing(spans_of(parts));
  // Another number of rows is another matrix; B is the same.
  EXPECT_LE(bytes(sharing.brought_by_others(0, 0)), 11U * 4096);
  EXPECT_GE(bytes(sharing.brought_by_others(0, 0)), 8U * 4096);
}

TEST_F(SharingTest, OperationsOfTheSameNumberShare) {
  const std::vector<std::vector<Operation>> parts = {{product(100, 100, 100), product(200, 100, 90)},
                                                     {product(200, 100, 90)}};
  const Sharing sharing(spans_of(parts));
  EXPECT_TRUE(sharing.brought_by_others(0, 0).empty());
  EXPECT_TRUE(sharing.brought_by_others(0, 1).empty());
}

using std::chrono::steady_clock;

TEST_F(SharingTest, WhoBringsASliceIsWaitedFor) {
  const auto parts = operation::parts(product(200, 240, 200), 3);
  Sharing sharing(spans_of(parts));
  ledger::Ledger ledger(std::make_unique<test::PlayedTracker>());
  ledger::Place place(ledger);
  const auto at_once = steady_clock::now();
  sharing.claimed(0, 0, &place);
  sharing.claimed(1, 0, nullptr);
  EXPECT_EQ(sharing.place_of(0, 0, at_once), &place);
  EXPECT_EQ(sharing.place_of(1, 0, steady_clock::time_point::max()), nullptr) << "it has failed";
  EXPECT_EQ(sharing.place_of(2, 0, at_once), nullptr) << "it has claimed nothing yet";
  std::thread third([&] { sharing.claimed(2, 0, &place); });
  EXPECT_EQ(sharing.place_of(2, 0, at_once + std::chrono::seconds(60)), &place);
  third.join();
  EXPECT_EQ(sharing.place_of(2, 1, at_once), nullptr) << "for the next operation it has claimed nothing yet";
  sharing.leave(1);
  EXPECT_EQ(sharing.place_of(1, 4, steady_clock::time_point::max()), nullptr);
}

TEST_F(SharingTest, NothingIsSteadyAfterTheCall) {
  const auto parts = operation::parts(product(200, 240, 200), 2);
  const std::uintptr_t chunk = memory_.span().begin / ledger::chunk_bytes * ledger::chunk_bytes;
  ledger::Ledger ledger(std::make_unique<test::PlayedTracker>());
  ledger::Place place(ledger);
  const auto steady = [&] {
    const std::array<std::size_t, 1> holders = {place.number()};
    return !place.who_has({{chunk, chunk + ledger::chunk_bytes}}, holders, {}).runs().empty();
  };
  ledger::Copy& copy = place.open(chunk, 0);
  {
    Sharing sharing(spans_of(parts));
    sharing.claimed(0, 0, &place);
    residency::each_filled_run(parts[0][0].operands()[0], [&](Span run) {
      const std::uintptr_t end = std::min(run.end, chunk + ledger::chunk_bytes);
      copy.steady.set((run.begin - chunk) / platform::page_size(), (end - chunk) / platform::page_size());
    });
    EXPECT_TRUE(steady());
  }
  EXPECT_FALSE(steady());
}

}  // namespace
