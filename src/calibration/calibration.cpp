#include "calibration/calibration.h"

#include <malloc.h>

#include <nlohmann/json.hpp>

#include "calibration/device_rates.h"
#include "calibration/host_library.h"
#include "calibration/machine_rates.h"
#include "calibration/trial.h"
#include "platform/stopwatch.h"
#include "runtime/device_context.h"

namespace blastoff::calibration {

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
