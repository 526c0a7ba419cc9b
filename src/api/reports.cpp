#include "api/reports.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "platform/process.h"
#include "report/context.h"
#include "report/file.h"

namespace blastoff::api {

std::string report_path_json(const std::string& path) {
  report::Context context;
  context.pid = getpid();
  context.rank = platform::global_rank();
  context.host = platform::host_name();
  const std::string pattern = report::report_pattern(path);
  const nlohmann::ordered_json json{{"pattern", pattern}, {"obstacle", report::obstacle_to_report(pattern, context)}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool write_report(const std::string& pattern, const std::string& report) {
  const nlohmann::json process = nlohmann::json::parse(report).at("process");
  report::Context context;
  context.run = process.value("run", "");
  context.pid = process.at("pid");
  context.rank = process.at("rank").is_null() ? -1 : process.at("rank").get<int>();
  context.host = process.at("host");
  return report::write_report(pattern, report, context);
}

}  // namespace blastoff::api
