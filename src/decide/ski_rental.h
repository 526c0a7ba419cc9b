// Decides when to pay a price once, instead of a little at every use.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace blastoff::decide {

/// The ski rental rule: rent until the rents add up to the price, then buy. Whatever comes, this costs at most twice as
/// much as the best choice in hindsight. Here a use that goes without (of a matrix that is not on the device, say) is a
/// rent, and bringing the matrix is the purchase.
///
/// If there are too many things, a new one takes over the place and the loss of the one that has lost least. So each is
/// bought at last however many there are, and no more is paid than has been lost (Metwally, Agrawal, El Abbadi 2005,
/// Space-Saving). Takes no lock. Thread-safe; a race costs a little time.
class SkiRental {
 public:
  /// One more use without the thing of this key would lose so many seconds. Returns whether to pay its price now: then
  /// its losses are forgotten.
  bool worth_buying(std::uint64_t key, double lost, double price) {
    Loss& loss = loss_of(key);
    const double sum = static_cast<double>(loss.seconds.load(std::memory_order_relaxed)) + lost;
    const bool worth = sum >= price;
    loss.seconds.store(worth ? 0 : static_cast<float>(sum), std::memory_order_relaxed);
    return worth;
  }

 private:
  struct Loss {
    std::atomic<std::uint64_t> key{0};
    std::atomic<float> seconds{0};
  };
  static constexpr std::size_t set_count = 128;
  static constexpr std::size_t ways = 8;

  Loss& loss_of(std::uint64_t key) {
    auto& set = losses_[(key >> 40) % set_count];
    const auto known =
        std::ranges::find_if(set, [&](const Loss& loss) { return loss.key.load(std::memory_order_relaxed) == key; });
    if (known != set.end()) return *known;
    Loss& least = *std::ranges::min_element(
        set, {}, [](const Loss& loss) { return loss.seconds.load(std::memory_order_relaxed); });
    least.key.store(key, std::memory_order_relaxed);
    return least;
  }

  std::array<std::array<Loss, ways>, set_count> losses_{};
};

}  // namespace blastoff::decide
