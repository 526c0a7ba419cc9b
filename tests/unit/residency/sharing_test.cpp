// Which slices of what several parts of a call read each of them brings, and who waits for whom.
#include "residency/sharing.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "blas/shape.h"
#include "blas_front_end.h"
#include "mapped_memory.h"
#include "platform/interval_set.h"
#include "residency/footprint.h"

namespace {

using namespace blastoff;
using operation::Operation;
using platform::Span;
using residency::Sharing;

class SharingTest : public testing::Test {
 protected:
  Operation product(std::int64_t m, std::int64_t n, std::int64_t k) {
    blas::Call call;
    call.routine = blas::Routine::dgemm;
    call.m = m;
    call.n = n;
    call.k = k;
    call.alpha = 1;
    const std::array<void*, 3> addresses = {memory_.page(0), memory_.page(100), memory_.page(200)};
    const std::array<std::int64_t, 3> leading = {m, k, m};
    blas::shape_operands(call, addresses, leading);
    return call;
  }

  static Sharing sharing_of(const std::vector<std::vector<Operation>>& parts) {
    std::vector<std::span<const Operation>> spans;
    for (const auto& operations : parts) spans.emplace_back(operations);
    return Sharing(spans);
  }

  static std::size_t bytes(const std::vector<Span>& spans) {
    std::size_t sum = 0;
    for (const Span span : spans) sum += span.bytes();
    return sum;
  }

  test::Memory memory_{300};
};

/// Cut by columns of the result, A goes to all, and a part of B to each.
TEST_F(SharingTest, EveryPageOfACommonMatrixIsBroughtByOnePart) {
  const auto parts = operation::parts(product(200, 240, 200), 3);
  ASSERT_EQ(parts.size(), 3U);
  const Sharing sharing = sharing_of(parts);
  const Span a = platform::outward_to_pages(residency::bounds(parts[0][0].operands()[0]));
  std::size_t own = 0;
  platform::IntervalSet brought;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    platform::IntervalSet others;
    for (const Span span : sharing.brought_by_others(part, 0)) {
      EXPECT_TRUE(a.contains(span)) << "nobody else reads this part of B";
      others.add(span);
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

/// Others may have written since what else lies on a page.
TEST_F(SharingTest, PagesThatACommonMatrixFillsAreWhollyItsOwn) {
  const auto parts = operation::parts(product(200, 240, 200), 3);
  const Sharing sharing = sharing_of(parts);
  const operation::Operand& a = parts[0][0].operands()[0];
  const Span inner = platform::inward_to_pages(residency::bounds(a));
  EXPECT_LT(inner.bytes(), platform::outward_to_pages(residency::bounds(a)).bytes());
  EXPECT_EQ(sharing.filled_by_common(1, 0), std::vector<Span>{inner}) << "and nothing of B";
  const auto alone = std::vector<std::vector<Operation>>{{product(200, 240, 200)}, {product(100, 100, 100)}};
  EXPECT_TRUE(sharing_of(alone).filled_by_common(0, 0).empty());
}

TEST_F(SharingTest, WhatOnePartAloneReadsItBringsItself) {
  const std::vector<std::vector<Operation>> parts = {{product(100, 100, 100)}, {product(90, 100, 100)}};
  const Sharing sharing = sharing_of(parts);
  // Another number of rows is another matrix; B is the same.
  EXPECT_LE(bytes(sharing.brought_by_others(0, 0)), 11U * 4096);
  EXPECT_GE(bytes(sharing.brought_by_others(0, 0)), 8U * 4096);
}

TEST_F(SharingTest, OperationsOfTheSameNumberShare) {
  const std::vector<std::vector<Operation>> parts = {{product(100, 100, 100), product(200, 100, 90)},
                                                     {product(200, 100, 90)}};
  const Sharing sharing = sharing_of(parts);
  EXPECT_TRUE(sharing.brought_by_others(0, 0).empty());
  EXPECT_TRUE(sharing.brought_by_others(0, 1).empty());
}

TEST_F(SharingTest, AllAreWaitedFor) {
  const auto parts = operation::parts(product(200, 240, 200), 3);
  Sharing sharing = sharing_of(parts);
  sharing.brought(0, 0);
  sharing.brought(1, 0);
  EXPECT_FALSE(sharing.wait(0, 1e-3)) << "the third has brought nothing yet";
  std::thread third([&] { sharing.brought(2, 0); });
  EXPECT_TRUE(sharing.wait(0, 60));
  third.join();
  EXPECT_FALSE(sharing.wait(1, 1e-3));
}

TEST_F(SharingTest, WhoLeavesIsNotWaitedFor) {
  const auto parts = operation::parts(product(200, 240, 200), 3);
  Sharing sharing = sharing_of(parts);
  sharing.brought(0, 4);
  sharing.leave(1);
  sharing.leave(2);
  EXPECT_TRUE(sharing.wait(4, 0));
}

TEST_F(SharingTest, OthersTakeWhatAPartOffers) {
  const auto parts = operation::parts(product(200, 240, 200), 3);
  Sharing sharing = sharing_of(parts);
  const Span page{0x1000, 0x2000};
  sharing.offer(1, 0, {nullptr, {{page, 0xd000}}});
  const auto taken_by = [&](std::size_t part, std::size_t number) {
    std::vector<Span> pages;
    sharing.take(part, number).each([&](const residency::Offer& offer) {
      for (const residency::PagesOnDevice& run : offer.runs) pages.push_back(run.host);
    });
    return pages;
  };
  EXPECT_EQ(taken_by(0, 0), std::vector<Span>{page});
  EXPECT_EQ(taken_by(2, 0), std::vector<Span>{page});
  EXPECT_TRUE(taken_by(1, 0).empty()) << "its own";
  EXPECT_TRUE(taken_by(0, 1).empty()) << "of another operation";
  sharing.withdraw(1, 0, 0);
  EXPECT_TRUE(taken_by(0, 0).empty());
}

TEST_F(SharingTest, AnOfferLastsAsLongAsItIsCopiedFrom) {
  const auto parts = operation::parts(product(200, 240, 200), 3);
  Sharing sharing = sharing_of(parts);
  sharing.offer(1, 0, {nullptr, {{{0x1000, 0x2000}, 0xd000}}});
  for (std::size_t part = 0; part < 3; ++part) sharing.supplied(part, 0);
  auto taken = std::make_unique<Sharing::Taken>(sharing.take(0, 0));
  std::atomic<bool> withdrawn{false};
  std::thread owner([&] {
    sharing.withdraw(1, 0, 60);
    withdrawn = true;
  });
  // No more can be asked than that it has not ended after a while.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(withdrawn);
  taken->release();
  owner.join();
  EXPECT_TRUE(withdrawn);
}

TEST_F(SharingTest, WhoOffersGivesTheOthersTimeToTake) {
  const auto parts = operation::parts(product(200, 240, 200), 3);
  Sharing sharing = sharing_of(parts);
  sharing.offer(0, 0, {nullptr, {{{0x1000, 0x2000}, 0xd000}}});
  sharing.supplied(0, 0);
  sharing.leave(1);
  std::thread owner([&] { sharing.withdraw(0, 0, 60); });
  const auto count = [](const Sharing::Taken& taken) {
    int offers = 0;
    taken.each([&](const residency::Offer&) { ++offers; });
    return offers;
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(count(sharing.take(2, 0)), 1) << "the third part has not asked yet";
  sharing.supplied(2, 0);
  owner.join();
}

}  // namespace
