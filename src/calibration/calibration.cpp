#include "calibration/calibration.h"

#include <malloc.h>

#include <dlfcn.h>
#include <nlohmann/json.hpp>
#include <string>

#include "abi/original_routine.h"
#include "calibration/device_rates.h"
#include "calibration/machine_rates.h"
#include "calibration/trial.h"
#include "lapack/host_routine.h"
#include "operation/host.h"
#include "platform/fork_guard.h"
#include "platform/stopwatch.h"
#include "runtime/device_context.h"

namespace blastoff::calibration {
namespace {

// A BLAS library that is loaded for measurements and computes for the simulated device.

class HostLibrary final : public operation::Host {
 public:
  /// Uses functions with Fortran names, "dgemm_", and 32-bit integers. If `path` is "" or cannot be opened, nothing can
  /// be computed.
  explicit HostLibrary(const std::string& path);

  bool can_compute(const operation::Operation& operation) const override;
  bool compute(const operation::Operation& operation) const override;

 private:
  void* find(const std::string& routine) const;

  void* handle_ = nullptr;
};

abi::OriginalRoutine blas_routine(blas::Routine routine, void* function, void* companion) {
  return {routine, {function, abi::Style::fortran}, {companion, abi::Style::fortran}};
}

HostLibrary::HostLibrary(const std::string& path) {
  const platform::ForkGuard guard;
  if (!path.empty()) handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

void* HostLibrary::find(const std::string& routine) const {
  const platform::ForkGuard guard;
  return handle_ == nullptr ? nullptr : dlsym(handle_, (routine + "_").c_str());
}

bool HostLibrary::can_compute(const operation::Operation& operation) const {
  if (!blas::is_blas(operation) && !lapack::is_lapack(operation)) return false;
  return find(operation.name()) != nullptr;
}

bool HostLibrary::compute(const operation::Operation& operation) const {
  if (lapack::is_lapack(operation)) {
    const auto routine = operation.payload<lapack::Problem>().routine;
    return lapack::HostRoutine(routine, find(operation.name())).compute(operation);
  }
  const blas::Routine routine = blas::call_of(operation).routine;
  const blas::Routine companion = abi::companion_of(routine);
  const operation::Host& host = blas_routine(routine, find(row(routine).name), find(row(companion).name));
  return host.compute(operation);
}

}  // namespace

using Json = nlohmann::ordered_json;

std::string calibration_json(const config::Settings& settings, const Request& request) {
  // Every matrix gets a mapping of its own, which ends with it. So no page-locked memory lies beside new memory.
  mallopt(M_MMAP_THRESHOLD, 1 << 16);
  const platform::Stopwatch all;
  auto started = runtime::DeviceContext::start(settings, [] { return false; });
  if (!started) return Json{{"error", started.error().message}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  runtime::DeviceContext& context = *started->release();  // never destroyed
  // A program's first call also loads kernels.
  if (const auto first = Trial::make({decide::Family::gemm, decide::Precision::d}, 64))
    context.make_ready(first->operation());
  const double open_seconds = all.seconds();

  const HostLibrary host(request.host_library);
  const device::Properties& device = context.device().properties();
  Json result{{"device",
               {{"kind", device.kind},
                {"name", device.name},
                {"software", context.device().software()},
                {"memory", device.total_memory}}},
              {"open_seconds", open_seconds}};
  result.update(machine_rates(context, settings, host, request.quick));
  const auto timed = [&] { return all.seconds() < request.max_seconds; };
  result.update(device_rates(context, host, result.value("launch_seconds", 0.0), request.quick, timed));
  add_call_rates(result, context, host, request.quick);
  result["seconds"] = all.seconds();
  context.stop();
  return result.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace blastoff::calibration
