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
/// A purchase that is likely to pay need not wait for the rents. If the latest purchases of a thing have earned twice
/// what they cost, a tenth of the price is enough. A purchase that then earns nothing ends that.
///
/// If there are too many things, a new one takes over the place and the loss of the one that has lost least. So each is
/// bought at last however many there are, and no more is paid than has been lost (Metwally, Agrawal, El Abbadi 2005,
/// Space-Saving). Takes no lock. Thread-safe; a race costs a little time.
class SkiRental {
 public:
  /// One more use without the thing of this key would lose so many seconds. Returns whether to pay its price now: then
  /// its losses go down by the price.
  bool worth_buying(std::uint64_t key, double lost, double price) {
    Loss& loss = loss_of(key);
    const double sum = value(loss.seconds) + lost;
    const double earned = value(loss.earned);
    const double paid = value(loss.paid);
    constexpr double worth_a_risk = 2;
    constexpr double share = 0.1;
    const bool trusted = paid > 0 && earned >= worth_a_risk * paid;
    const bool worth = sum >= (trusted ? share * price : price);
    put(loss.seconds, worth ? std::max(0.0, sum - price) : sum);
    if (worth) {  // what was long ago counts less and less
      put(loss.earned, earned / 2);
      put(loss.paid, paid / 2 + price);
    }
    return worth;
  }

  /// A use with the thing has saved so many seconds.
  void used(std::uint64_t key, double saved) {
    Loss& loss = loss_of(key);
    put(loss.earned, value(loss.earned) + saved);
  }

 private:
  struct Loss {
    std::atomic<std::uint64_t> key{0};
    std::atomic<float> seconds{0};  ///< of uses without it, which were not paid for
    std::atomic<float> earned{0};   ///< seconds
    std::atomic<float> paid{0};     ///< seconds
  };
  static double value(const std::atomic<float>& of) { return static_cast<double>(of.load(std::memory_order_relaxed)); }
  static void put(std::atomic<float>& of, double to) { of.store(static_cast<float>(to), std::memory_order_relaxed); }
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
    put(least.earned, 0);
    put(least.paid, 0);
    return least;
  }

  std::array<std::array<Loss, ways>, set_count> losses_{};
};

}  // namespace blastoff::decide
