#include "device/simulated/faults.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "device/simulated/notation.h"

namespace blastoff::device::simulated {
namespace {

std::string_view name_of(Operation operation) {
  return operation_names[static_cast<std::size_t>(operation)];
}

Error bad_plan(const std::string& text) {
  return {ErrorKind::unavailable,
          fmt::format("simulated fault \"{}\" not understood: OPERATION:N, OPERATION:N:lost, OPERATION:N:memory or "
                      "OPERATION:N:unsupported, with N from 1 and OPERATION one of {}; or execute:N:wrong",
                      text, fmt::join(operation_names, ", "))};
}

}  // namespace

Status Faults::plan(const std::string& text) {
  if (text.empty()) return {};
  const auto plan = read_fault(text);
  if (!plan) return tl::unexpected(bad_plan(text));
  operation_ = static_cast<Operation>(plan->operation);
  failing_ = plan->number;
  wrong_ = plan->how == "wrong";
  kind_ = plan->how == "memory"        ? ErrorKind::out_of_memory
          : plan->how == "unsupported" ? ErrorKind::unsupported
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
