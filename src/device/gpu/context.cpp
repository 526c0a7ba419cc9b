#include "device/gpu/context.h"

#include <utility>

#include <fmt/format.h>

namespace blastoff::device::gpu {

Result<std::shared_ptr<Context>> Context::retain(const Driver& driver, int gpu) {
  ContextHandle handle = nullptr;
  const Code result = driver.retain_context(&handle, gpu);
  if (result == success) return std::shared_ptr<Context>(new Context(driver, gpu, handle));
  const auto kind =
      driver.failure(result) == Failure::out_of_memory ? ErrorKind::out_of_memory : ErrorKind::unavailable;
  return tl::unexpected(Error{kind, fmt::format("no context on GPU {}: {}", gpu, driver.describe(result))});
}

bool Context::reach(const Context& other) {
  int possible = 0;
  if (driver_.can_reach(&possible, gpu_, other.gpu_) != success || possible == 0) return false;
  return run([&] { return check_attempt(driver_.reach(other.handle_), "access to another GPU"); }).has_value();
}

Context::~Context() {
  driver_.release_context(gpu_);
}

Status Context::check_attempt(Code result, std::string_view operation) {
  if (result == success) return {};
  const Failure failure = driver_.failure(result);
  if (failure == Failure::out_of_memory || failure == Failure::fatal) return check(result, operation);
  return tl::unexpected(Error{ErrorKind::unsupported, fmt::format("{}: {}", operation, driver_.describe(result))});
}

Error Context::fail(Code result, std::string_view operation) {
  auto message = fmt::format("{}: {}", operation, driver_.describe(result));
  switch (driver_.failure(result)) {
    case Failure::out_of_memory: return {ErrorKind::out_of_memory, std::move(message)};
    case Failure::unsupported: return {ErrorKind::unsupported, std::move(message)};
    case Failure::refused:
    case Failure::fatal: break;
  }
  return lose(std::move(message));
}

Error Context::lose(std::string message) {
  {
    const std::lock_guard lock(mutex_);
    if (cause_.empty()) cause_ = std::move(message);
  }
  lost_.store(true, std::memory_order_release);
  return lost_error();
}

Error Context::lost_error() {
  const std::lock_guard lock(mutex_);
  return {ErrorKind::lost, "GPU lost: " + cause_};
}

}  // namespace blastoff::device::gpu
