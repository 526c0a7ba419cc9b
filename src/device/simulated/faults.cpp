#include "device/simulated/faults.h"

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace blastoff::device::simulated {
namespace {

constexpr std::array<std::string_view, 13> operation_names = {
    "allocate", "reserve", "back",    "staging", "queue", "event",      "to-device",
    "to-host",  "between", "execute", "record",  "wait",  "synchronize"};

std::string_view name_of(Operation operation) {
  return operation_names[static_cast<std::size_t>(operation)];
}

Error bad_plan(const std::string& text) {
  return {ErrorKind::unavailable,
          fmt::format("simulated fault \"{}\" not understood: OPERATION:N, OPERATION:N:lost, OPERATION:N:memory or "
                      "OPERATION:N:unsupported, with N from 1 and OPERATION one of {}; or execute:N:wrong",
                      text, fmt::join(operation_names, ", "))};
}

/// Returns the text before the first ':' of `rest`, and cuts both off.
std::string_view next_part(std::string_view& rest) {
  const auto colon = rest.find(':');
  const auto part = rest.substr(0, colon);
  rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
  return part;
}

}  // namespace

Status Faults::plan(const std::string& text) {
  if (text.empty()) return {};
  std::string_view rest = text;
  const auto operation = next_part(rest);
  const auto number = next_part(rest);
  std::size_t index = 0;
  while (index < operation_names.size() && operation_names[index] != operation) ++index;
  std::uint64_t failing = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), failing);
  const bool is_number = error == std::errc{} && end == number.data() + number.size() && failing > 0;
  const bool wrong = rest == "wrong" && operation == name_of(Operation::execute);
  const bool is_kind = rest.empty() || rest == "lost" || rest == "memory" || rest == "unsupported" || wrong;
  if (index == operation_names.size() || !is_number || !is_kind) return tl::unexpected(bad_plan(text));
  operation_ = static_cast<Operation>(index);
  failing_ = failing;
  wrong_ = wrong;
  kind_ = rest == "memory"        ? ErrorKind::out_of_memory
          : rest == "unsupported" ? ErrorKind::unsupported
                                  : ErrorKind::lost;
  return {};
}

Status Faults::check(Operation operation) {
  if (lost_.load(std::memory_order_acquire)) return tl::unexpected(lost_error());
  if (failing_ == 0 || wrong_ || operation != operation_) return {};
  if (count_.fetch_add(1, std::memory_order_relaxed) + 1 != failing_) return {};
  auto message = fmt::format("simulated fault: {} number {} fails", name_of(operation), failing_);
  if (kind_ == ErrorKind::lost) return tl::unexpected(lose(std::move(message)));
  return tl::unexpected(
      Error{kind_, std::move(message) + (kind_ == ErrorKind::unsupported ? " here" : " for want of memory")});
}

bool Faults::spoils_result() {
  return wrong_ && count_.fetch_add(1, std::memory_order_relaxed) + 1 == failing_;
}

Error Faults::lose(std::string message) {
  {
    const std::lock_guard lock(mutex_);
    if (cause_.empty()) cause_ = std::move(message);
  }
  lost_.store(true, std::memory_order_release);
  return lost_error();
}

Error Faults::lost_error() {
  const std::lock_guard lock(mutex_);
  return {ErrorKind::lost, "simulated device lost: " + cause_};
}

}  // namespace blastoff::device::simulated
