#include "runtime/settled_calls.h"

#include <array>
#include <atomic>
#include <utility>

#include "report/recorder.h"

namespace blastoff::runtime {
namespace {

std::atomic<std::uint16_t> term{1};

/// Small, since thread-local memory is scarce if the library is loaded late. Most loops make calls of one or two kinds.
constexpr std::size_t max_kinds = 4;
static_assert(sizeof(SettledCall) == 24);
[[gnu::tls_model("initial-exec")]] constinit thread_local std::array<SettledCall, max_kinds> settled{};

SettledCall& place_of(std::uint64_t likeness) {
  return settled[(likeness >> 32) % max_kinds];
}

/// Up to a quarter of `calls`, another share each time. Lines of a program that make like calls in turn are so judged
/// in turn, too: a judged call counts its line for all calls since the one before.
std::uint32_t skipped(std::uint32_t calls) {
  static constinit std::atomic<std::uint32_t> settlements{0};
  constexpr std::uint32_t golden_ratio = 0x9e3779b9;  // of 2^32
  const std::uint32_t share = settlements.fetch_add(1, std::memory_order_relaxed) * golden_ratio;
  return static_cast<std::uint32_t>((std::uint64_t{share} * (calls / 4 + 1)) >> 32);
}

}  // namespace

const SettledCall* take_settled_call(std::uint64_t likeness) {
  SettledCall& known = place_of(likeness);
  if (known.left == 0 || known.likeness != likeness || known.term != term.load(std::memory_order_relaxed))
    return nullptr;
  --known.left;
  return &known;
}

SettledCall end_settled_calls(std::uint64_t likeness) {
  SettledCall& known = place_of(likeness);
  return known.likeness == likeness ? std::exchange(known, {}) : SettledCall{};
}

void settle_calls(std::uint64_t likeness, std::uint32_t calls, const report::Record& typical) {
  const std::uint32_t granted = calls - skipped(calls);
  place_of(likeness) = {.likeness = likeness,
                        .seconds_per_volume = static_cast<float>(typical.seconds / typical.volume),
                        .wall_seconds_per_volume = static_cast<float>(typical.wall_seconds / typical.volume),
                        .term = term.load(std::memory_order_relaxed),
                        .granted = static_cast<std::uint16_t>(granted),
                        .left = static_cast<std::uint16_t>(granted),
                        .refusal = typical.refusal};
}

void begin_new_term() {
  term.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace blastoff::runtime
