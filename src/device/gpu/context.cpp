#include "device/gpu/context.h"

#include <utility>

#include <fmt/format.h>

namespace blastoff::device::cuda {
namespace {

/// Errors after which a context is unusable ("the process must be terminated and relaunched", NVIDIA writes), and
/// errors that mean that there is no context.
bool ruins_context(api::CUresult result) {
  switch (result) {
    case 3:  // not initialized
    case 4:  // deinitialized
    case api::error_device_unavailable:
    case 101:  // invalid device
    case 201:  // invalid context
    case 214:  // uncorrectable ECC error
    case 220:  // uncorrectable NVLink error
    case 226:  // contained error
    case 700:  // illegal address
    case 702:  // launch timeout
    case 709:  // context is destroyed
    case 710:  // device-side assertion
    case 714:  // hardware stack error
    case 715:  // illegal instruction
    case 716:  // misaligned address
    case 717:  // invalid address space
    case 718:  // invalid program counter
    case 719:  // launch failed
    case 810:  // MPS client terminated
    case 911:  // external device
    case 999:  // unknown
      return true;
    default: return false;
  }
}

}  // namespace

std::string describe(const api::Driver& driver, api::CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.cuGetErrorName(result, &name) != api::success || name == nullptr)
    return fmt::format("CUDA error {}", result);
  if (driver.cuGetErrorString(result, &text) != api::success || text == nullptr) return name;
  return fmt::format("{} ({})", name, text);
}

Result<std::shared_ptr<Context>> Context::retain(const api::Driver& driver, api::CUdevice device) {
  api::CUcontext handle = nullptr;
  const auto result = driver.cuDevicePrimaryCtxRetain(&handle, device);
  if (result == api::success) return std::shared_ptr<Context>(new Context(driver, device, handle));
  const auto kind = result == api::error_out_of_memory ? ErrorKind::out_of_memory : ErrorKind::unavailable;
  return tl::unexpected(Error{kind, fmt::format("no context on GPU {}: {}", device, describe(driver, result))});
}

bool Context::reach(const Context& other) {
  int possible = 0;
  if (driver_.cuDeviceCanAccessPeer(&possible, device_, other.device_) != api::success || possible == 0) return false;
  return run([&] {
           const auto result = driver_.cuCtxEnablePeerAccess(other.handle_, 0);
           return result == api::error_peer_access_already_enabled ? Status{}
                                                                   : check_attempt(result, "cuCtxEnablePeerAccess");
         })
      .has_value();
}

Context::~Context() {
  driver_.cuDevicePrimaryCtxRelease_v2(device_);
}

Status Context::check_attempt(api::CUresult result, std::string_view operation) {
  if (result == api::success || result == api::error_out_of_memory || ruins_context(result))
    return check(result, operation);
  return tl::unexpected(Error{ErrorKind::unsupported, fmt::format("{}: {}", operation, describe(driver_, result))});
}

Error Context::fail(api::CUresult result, std::string_view operation) {
  auto message = fmt::format("{}: {}", operation, describe(driver_, result));
  if (result == api::error_out_of_memory) return {ErrorKind::out_of_memory, std::move(message)};
  if (result == api::error_not_supported) return {ErrorKind::unsupported, std::move(message)};
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

}  // namespace blastoff::device::cuda
