// Who waits for whom.
#include "ledger/turns.h"

#include <chrono>
#include <future>
#include <optional>

#include <gtest/gtest.h>

namespace blastoff::ledger {
namespace {

using platform::Span;

constexpr Span pages{0x10000, 0x20000};
constexpr Span beside{0x20000, 0x30000};
constexpr Span common{0x1f000, 0x21000};

std::future<void> ask_for_turn(Turns& turns, Span span) {
  return std::async(std::launch::async, [&turns, span] { const Turn turn(turns, span); });
}

bool waits(std::future<void>& asked) {
  return asked.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout;
}

TEST(Turns, WaitOnlyForEarlierOnesThatHaveSomeOfTheirPages) {
  Turns turns;
  std::optional<Turn> turn(std::in_place, turns, pages);
  auto other = ask_for_turn(turns, beside);
  other.get();
  auto same = ask_for_turn(turns, common);
  EXPECT_TRUE(waits(same));
  auto later = ask_for_turn(turns, beside);
  EXPECT_TRUE(waits(later)) << "for the one that waits";
  turn.reset();
  same.get();
  later.get();
}

}  // namespace
}  // namespace blastoff::ledger
