// Which memory of the program is page-locked, and for how long.
#include "residency/mirror/pins.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "forwarding_device.h"
#include "held_device.h"
#include "simulated_device.h"

namespace blastoff::residency::mirror {
namespace {

using platform::Span;

/// Page-locks nothing, and knows what it was asked for.
class CountingDevice final : public test::ForwardingDevice {
 public:
  CountingDevice() : ForwardingDevice(test::open_simulated(std::size_t{1} << 20)) {}

  bool may_pin() override { return true; }
  bool registered_by_program(const void*) override {
    asking.pass();
    return true;
  }
  device::Status pin(void* address, std::size_t bytes) override {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    locking.pass();
    const std::lock_guard lock(mutex);
    for (const auto& [other, size] : pinned) EXPECT_FALSE((Span{begin, begin + bytes}.overlaps({other, other + size})));
    pinned[begin] = bytes;
    locked += bytes;
    return {};
  }
  void unpin(void* address, std::size_t bytes) override {
    unlocking.pass();
    const std::lock_guard lock(mutex);
    const auto found = pinned.find(reinterpret_cast<std::uintptr_t>(address));
    ASSERT_NE(found, pinned.end());
    EXPECT_EQ(found->second, bytes);
    pinned.erase(found);
  }

  test::HeldCall asking;
  test::HeldCall locking;
  test::HeldCall unlocking;
  std::mutex mutex;
  std::map<std::uintptr_t, std::size_t> pinned;
  std::size_t locked = 0;  ///< bytes in all, unlocked ones included
};

class PinsTest : public testing::Test {
 protected:
  const std::size_t page = platform::page_size();
  /// So many pages, from a number on.
  Span pages(std::size_t first, std::size_t count) const {
    const std::uintptr_t begin = std::uintptr_t{1} << 32;
    return {begin + first * page, begin + (first + count) * page};
  }
  Pins::Pin* request(Span span) {
    bool met = false;
    return pins.hold(device, span, met, callers);
  }
  /// The same in a call of another thread.
  Pins::Pin* request_elsewhere(Span span) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    bool met = false;
    return pins.hold(device, span, met, lock);
  }
  void use(Span span) {
    if (Pins::Pin* const pin = request(span)) pins.unhold(pin);
  }
  /// The last hold of a pin that has ended.
  void end_use(Pins::Pin* pin) {
    pins.unhold(pin);
    pins.unlock_ended();
  }

  /// The device says that all memory is registered. The program has registered what no pin covers.
  bool covered(Span span) { return !pins.registered_by_program(device, span); }

  void TearDown() override { pins.release_of(device); }

  CountingDevice device;
  Pins pins{1000 * page};
  std::mutex callers_mutex;
  std::unique_lock<std::mutex> callers{callers_mutex};
};

TEST_F(PinsTest, BeginWithTheSecondRequest) {
  EXPECT_EQ(request(pages(0, 10)), nullptr);
  Pins::Pin* const pin = request(pages(0, 10));
  ASSERT_NE(pin, nullptr);
  EXPECT_EQ(pin->span, pages(0, 10));
  EXPECT_TRUE(covered(pages(3, 2)));
  EXPECT_FALSE(covered(pages(9, 2)));
  pins.unhold(pin);
}

TEST_F(PinsTest, NothingIsPinnedThatIsExcepted) {
  use(pages(0, 10));
  Pins::Pin* const held = request(pages(0, 10));
  ASSERT_NE(held, nullptr);
  const Span excepted = pages(8, 4);
  pins.except([&](Span span) { return span.overlaps(excepted); });
  std::atomic<bool> ended = false;
  std::thread ending([&] {
    pins.end_excepted(excepted);
    ended = true;
  });
  use(pages(20, 10));
  use(pages(20, 10));
  EXPECT_FALSE(ended) << "a call holds it";
  end_use(held);
  ending.join();
  EXPECT_FALSE(covered(pages(0, 1)));
  for (int requests = 0; requests < 4; ++requests) {
    EXPECT_EQ(request(pages(0, 9)), nullptr);
    EXPECT_EQ(request(pages(11, 2)), nullptr);
  }
  EXPECT_TRUE(covered(pages(20, 10)));
  use(pages(0, 8));
  Pins::Pin* const beside = request(pages(0, 8));
  ASSERT_NE(beside, nullptr);
  EXPECT_EQ(beside->span, pages(0, 8)) << "and not what was requested beside it";
  pins.unhold(beside);
}

TEST_F(PinsTest, SlicesOfAMatrixShareOne) {
  std::vector<Span> slices;
  for (std::size_t i = 0; i < 8; ++i) slices.push_back({pages(i * 4, 4).begin + 100, pages(i * 4, 4).end + 100});
  for (const Span slice : slices) EXPECT_EQ(request(slice), nullptr);
  std::vector<Pins::Pin*> held;
  for (const Span slice : slices) held.push_back(request(slice));
  for (Pins::Pin* const pin : held) EXPECT_EQ(pin, held.front());
  EXPECT_EQ(device.locked, 33 * page);
  for (Pins::Pin* const pin : held) pins.unhold(pin);
}

TEST_F(PinsTest, NothingHeldIsEndedForALargerOne) {
  use(pages(0, 4));
  Pins::Pin* const held = request(pages(0, 4));
  use(pages(6, 2));
  use(pages(6, 2));
  const auto before = device.pinned;
  EXPECT_EQ(request(pages(2, 30)), nullptr);
  EXPECT_EQ(request(pages(2, 30)), nullptr);
  EXPECT_EQ(device.pinned, before);
  pins.unhold(held);
  EXPECT_NE(request(pages(2, 30)), nullptr);
}

TEST_F(PinsTest, PanelsInTurnAreNotLockedAgainAndAgain) {
  constexpr std::size_t count = 60;
  for (std::size_t panel = 0; panel < count; ++panel)
    for (int round = 0; round < 3; ++round) use(pages(panel * 10, 10));
  EXPECT_LE(device.locked, 3 * count * 10 * page);
}

// Matrices behind each other, each of which begins on the page on which the one before ends, are requested for the
// second time one after the other.
TEST_F(PinsTest, NeighboursInTurnAreNotLockedAgainAndAgain) {
  constexpr std::size_t matrices = 64;
  for (std::size_t i = 0; i < matrices; ++i)
    for (int twice = 0; twice < 2; ++twice) use(pages(4 * i, 5));
  EXPECT_LE(device.locked, 4 * 4 * matrices * page);
  for (int round = 0; round < 8; ++round)
    for (std::size_t i = 0; i < matrices; ++i) use(pages(4 * i, 5));
  EXPECT_TRUE(covered(pages(0, 4 * matrices + 1))) << "in the end they share one";
  EXPECT_LE(device.locked, 6 * 4 * matrices * page);
}

// A request that was forgotten would be the first one again.
TEST_F(PinsTest, OfManyTilesEachIsLockedAtItsSecondRequest) {
  constexpr std::size_t tiles = 10'000;
  Pins of_tiles(4 * tiles * page);
  const auto use_all = [&] {
    for (std::size_t i = 0; i < tiles; ++i) {
      bool met = false;
      if (Pins::Pin* const pin = of_tiles.hold(device, pages(2 * i, 1), met, callers)) of_tiles.unhold(pin);
    }
  };
  use_all();
  EXPECT_TRUE(device.pinned.empty());
  use_all();
  EXPECT_EQ(device.pinned.size(), tiles);
  use_all();
  EXPECT_EQ(device.locked, tiles * page);
  of_tiles.release_of(device);
}

TEST_F(PinsTest, EndWithTheirMemoryAndNotBeforeTheirLastHold) {
  use(pages(0, 8));
  Pins::Pin* const pin = request(pages(0, 8));
  pins.forget(pages(7, 1));
  EXPECT_TRUE(pin->gone);
  EXPECT_EQ(device.pinned.size(), 1U);
  EXPECT_TRUE(covered(pages(0, 8))) << "the driver has it";
  EXPECT_EQ(request(pages(0, 8)), nullptr) << "it is another one's memory";
  end_use(pin);
  EXPECT_TRUE(device.pinned.empty());
  EXPECT_FALSE(covered(pages(0, 8)));
}

TEST_F(PinsTest, OfOneDeviceServeTheOthers) {
  CountingDevice other;
  use(pages(0, 8));
  Pins::Pin* const pin = request(pages(0, 8));
  bool met = false;
  EXPECT_EQ(pins.hold(other, pages(2, 4), met, callers), pin);
  EXPECT_TRUE(met) << "its tracking sees the pages written, too";
  pins.unhold(pin);
  EXPECT_EQ(pins.hold(other, pages(0, 8), met, callers), pin);
  EXPECT_FALSE(met);
  EXPECT_FALSE(pins.registered_by_program(other, pages(3, 1)));
  EXPECT_EQ(pins.hold(other, pages(4, 8), met, callers), nullptr);
  EXPECT_EQ(pins.hold(other, pages(4, 8), met, callers), nullptr) << "it would lock memory twice";
  pins.unhold(pin);
  pins.unhold(pin);
  Pins::Pin* const larger = pins.hold(other, pages(4, 8), met, callers);
  ASSERT_NE(larger, nullptr);
  EXPECT_EQ(larger->span, pages(0, 12));
  EXPECT_TRUE(device.pinned.empty()) << "the device that locked it ends it";
  pins.unhold(larger);
  pins.release_of(device);
  EXPECT_EQ(other.pinned.size(), 1U);
  pins.release_of(other);
  EXPECT_TRUE(other.pinned.empty());
}

TEST_F(PinsTest, AreForbiddenOnlyWhenTheLastHoldHasEnded) {
  use(pages(0, 8));
  Pins::Pin* const pin = request(pages(0, 8));
  use(pages(20, 8));
  use(pages(20, 8));
  std::atomic<bool> forbidden{false};
  std::thread waiting([&] {
    EXPECT_TRUE(pins.forbid());
    forbidden = true;
  });
  while (!pin->gone || covered(pages(20, 8))) std::this_thread::yield();  // nobody held the other one
  EXPECT_FALSE(forbidden);
  EXPECT_EQ(device.pinned.size(), 1U);
  EXPECT_EQ(request(pages(0, 8)), nullptr);
  end_use(pin);
  waiting.join();
  EXPECT_TRUE(device.pinned.empty());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(request(pages(0, 8)), nullptr);
  pins.allow();
  use(pages(0, 8));
  EXPECT_FALSE(covered(pages(0, 8))) << "what was asked for meanwhile does not count";
}

TEST_F(PinsTest, AreNotForbiddenWhileACallHoldsOneForLong) {
  use(pages(0, 8));
  Pins::Pin* const pin = request(pages(0, 8));
  EXPECT_FALSE(WithoutPins::begin(std::shared_ptr<Pins>(std::shared_ptr<void>(), &pins)));
  pins.unhold(pin);
  for (int i = 0; i < 3; ++i) use(pages(0, 8));
  EXPECT_TRUE(covered(pages(0, 8))) << "nothing is forbidden";
}

/// Between two times that pins are forbidden, so many calls use the same memory.
TEST_F(PinsTest, MemoryThatWouldBeUsedAFewTimesOnlyIsNotLockedAgainAndAgain) {
  const auto phases = [&](int count, int calls) {
    for (int phase = 0; phase < count; ++phase) {
      for (int call = 0; call < calls; ++call) use(pages(0, 10));
      ASSERT_TRUE(pins.forbid());
      pins.allow();
    }
  };
  phases(50, 4);
  EXPECT_LE(device.locked, 2 * 10 * page);
  device.locked = 0;
  phases(1, 100);
  EXPECT_EQ(device.locked, 10 * page) << "used often enough";
}

TEST_F(PinsTest, StayWithinTheirLimit) {
  for (std::size_t i = 0; i < 30; ++i) {
    use(pages(i * 200, 100));
    use(pages(i * 200, 100));
  }
  std::size_t bytes = 0;
  for (const auto& [begin, size] : device.pinned) bytes += size;
  EXPECT_LE(bytes, 1000 * page);
  EXPECT_GE(bytes, 900 * page);
  pins.release();
  pins.unlock_ended();
  EXPECT_TRUE(pins.empty());
  EXPECT_TRUE(device.pinned.empty());
}

TEST_F(PinsTest, AreMadeWhileTheDriverIsAskedAndNotTakenForTheProgramsOwn) {
  use(pages(0, 10));
  use(pages(40, 10));
  const auto asked_while_locking = [&](Span asked, Span locked) {
    device.asking.hold_next();
    auto answer = std::async(std::launch::async, [&] { return pins.registered_by_program(device, asked); });
    device.asking.wait_until_held();
    auto locking = std::async(std::launch::async, [&] { pins.unhold(request_elsewhere(locked)); });
    EXPECT_EQ(locking.wait_for(std::chrono::seconds(60)), std::future_status::ready);
    device.asking.let_go();
    return answer.get();
  };
  EXPECT_FALSE(asked_while_locking(pages(0, 1), pages(0, 10)));
  EXPECT_TRUE(asked_while_locking(pages(20, 1), pages(40, 10)));
  EXPECT_TRUE(covered(pages(0, 10)) && covered(pages(40, 10)));
}

// Nobody may rely on a pin that is being made, or take it for the program's own, or have other memory locked with it.
TEST_F(PinsTest, OthersStageWhileOneIsMade) {
  use(pages(40, 8));
  Pins::Pin* const idle = request(pages(40, 8));
  ASSERT_NE(idle, nullptr);
  pins.unhold(idle);
  use(pages(0, 10));
  device.locking.hold_next();
  std::mutex mutex;
  Pins::Pin* pin = nullptr;
  std::thread making([&] {
    bool met = false;
    std::unique_lock lock(mutex);
    pin = pins.hold(device, pages(0, 10), met, lock);
    EXPECT_TRUE(met);
    EXPECT_TRUE(lock.owns_lock());
  });
  device.locking.wait_until_held();
  EXPECT_TRUE(mutex.try_lock()) << "the caller's lock is free";
  EXPECT_EQ(request(pages(2, 4)), nullptr);
  EXPECT_EQ(request(pages(8, 4)), nullptr);
  EXPECT_TRUE(covered(pages(0, 10)));
  EXPECT_FALSE(pins.others_pin());
  Pins::Pin* const again = request(pages(40, 8));
  EXPECT_EQ(again, idle);
  pins.unhold(again);
  pins.forget(pages(40, 1));
  pins.unlock_ended();
  EXPECT_TRUE(device.pinned.empty());
  mutex.unlock();
  device.locking.let_go();
  making.join();
  EXPECT_EQ(device.pinned.size(), 1U);
  ASSERT_NE(pin, nullptr);
  EXPECT_EQ(request(pages(2, 4)), pin);
  pins.unhold(pin);
  pins.unhold(pin);
}

TEST_F(PinsTest, MemoryThatGoesWhileItIsLockedIsUnlocked) {
  use(pages(0, 10));
  device.locking.hold_next();
  Pins::Pin* pin = nullptr;
  std::thread making([&] { pin = request_elsewhere(pages(0, 10)); });
  device.locking.wait_until_held();
  pins.forget(pages(3, 1));
  device.locking.let_go();
  making.join();
  ASSERT_NE(pin, nullptr);
  EXPECT_TRUE(pin->gone);
  end_use(pin);
  EXPECT_TRUE(pins.empty());
  EXPECT_TRUE(device.pinned.empty());
}

// Nobody waits for the driver but those who need to know that the memory is unlocked.
TEST_F(PinsTest, OthersStageWhileOneIsUnlocked) {
  for (const std::size_t first : {0U, 40U}) {
    use(pages(first, 10));
    use(pages(first, 10));
  }
  pins.forget(pages(3, 1));
  device.unlocking.hold_next();
  std::thread unlocking([&] { pins.unlock_ended(); });
  device.unlocking.wait_until_held();
  EXPECT_TRUE(covered(pages(0, 10)));
  EXPECT_TRUE(pins.touches(pages(0, 1)));
  pins.await_unlocked(pages(10, 40));
  std::atomic<bool> unlocked{false};
  std::thread waiting([&] {
    pins.await_unlocked(pages(9, 1));
    unlocked = true;
  });
  for (int requests = 0; requests < 4; ++requests) EXPECT_EQ(request(pages(2, 4)), nullptr);
  Pins::Pin* const other = request(pages(40, 10));
  ASSERT_NE(other, nullptr);
  end_use(other);
  use(pages(60, 10));
  use(pages(60, 10));
  EXPECT_TRUE(covered(pages(60, 10)));
  pins.forget(pages(40, 1));
  pins.unlock_ended();
  EXPECT_FALSE(covered(pages(40, 10)));
  std::atomic<bool> forbidden{false};
  std::thread forbidding([&] { forbidden = pins.forbid(); });
  while (covered(pages(60, 10))) std::this_thread::yield();
  EXPECT_FALSE(forbidden);
  EXPECT_FALSE(unlocked);
  device.unlocking.let_go();
  unlocking.join();
  waiting.join();
  forbidding.join();
  EXPECT_TRUE(forbidden);
  EXPECT_TRUE(device.pinned.empty());
}

TEST_F(PinsTest, ALargerOneIsLockedWhenThoseThatItReplacesAreUnlocked) {
  use(pages(0, 4));
  use(pages(0, 4));
  use(pages(2, 10));
  device.unlocking.hold_next();
  Pins::Pin* pin = nullptr;
  std::thread replacing([&] { pin = request_elsewhere(pages(2, 10)); });
  device.unlocking.wait_until_held();
  EXPECT_TRUE(covered(pages(0, 12)));
  EXPECT_EQ(request(pages(0, 4)), nullptr);
  device.unlocking.let_go();
  replacing.join();
  ASSERT_NE(pin, nullptr);
  EXPECT_EQ(pin->span, pages(0, 12));
  EXPECT_EQ(device.pinned.size(), 1U);
  pins.unhold(pin);
}

}  // namespace
}  // namespace blastoff::residency::mirror
