#include "calibration/calibration.h"

#include <malloc.h>

#include <nlohmann/json.hpp>

#include "calibration/device_rates.h"
#include "calibration/host_library.h"
#include "calibration/machine_rates.h"
#include "calibration/trial.h"
#include "platform/stopwatch.h"
#include "runtime/session.h"

namespace blastoff::calibration {

using Json = nlohmann::ordered_json;

std::string calibration_json(const config::Settings& settings, const Request& request) {
  // Every matrix gets a mapping of its own, which ends with it. So no page-locked memory lies beside new memory.
  mallopt(M_MMAP_THRESHOLD, 1 << 16);
  const platform::Stopwatch all;
  auto started = runtime::Session::start(settings, [] { return false; });
  if (!started) return Json{{"error", started.error().message}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  runtime::Session& session = *started->release();  // never destroyed
  // A program's first call also loads kernels.
  if (const auto first = Trial::make({decide::Family::gemm, decide::Precision::d}, 64))
    session.make_ready(first->operation());
  const double open_seconds = all.seconds();

  const HostLibrary host(request.host_library);
  const device::Properties& device = session.device().properties();
  Json result{{"device",
               {{"kind", device.kind},
                {"name", device.name},
                {"software", session.device().software()},
                {"memory", device.total_memory}}},
              {"open_seconds", open_seconds}};
  result.update(machine_rates(session, settings, host, request.quick));
  const auto timed = [&] { return all.seconds() < request.max_seconds; };
  result.update(device_rates(session, host, result.value("launch_seconds", 0.0), request.quick, timed));
  add_call_rates(result, session, host, request.quick);
  result["seconds"] = all.seconds();
  session.stop();
  return result.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace blastoff::calibration
