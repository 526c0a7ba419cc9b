#include "api/reports.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "platform/process.h"
#include "report/context.h"
#include "report/file.h"

namespace blastoff::api {

namespace {

/// Returns a path in a form for JSON: each byte as the character with that number (ISO 8859-1), because a path need not
/// be UTF-8.
std::string byte_for_byte(const std::string& path) {
  std::string text;
  for (const char letter : path) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x80) {
      text += letter;
    } else {
      text += static_cast<char>(0xc0U | byte >> 6U);
      text += static_cast<char>(0x80U | (byte & 0x3fU));
    }
  }
  return text;
}

}  // namespace

std::string report_path_json(const std::string& path) {
  report::Context context;
  context.pid = getpid();
  context.rank = platform::global_rank();
  context.host = platform::host_name();
  const std::string pattern = report::report_pattern(path);
  const std::string obstacle = report::obstacle_to_report(pattern, context);
  return nlohmann::ordered_json{{"pattern", byte_for_byte(pattern)}, {"obstacle", byte_for_byte(obstacle)}}.dump();
}

bool write_report(const std::string& pattern, const std::string& report, bool of_child) {
  const nlohmann::json process = nlohmann::json::parse(report).at("process");
  report::Context context;
  context.run = process.value("run", "");
  context.pid = process.at("pid");
  context.rank = process.at("rank").is_null() ? -1 : process.at("rank").get<int>();
  context.host = process.at("host");
  const std::string own = report::report_pattern(pattern);
  return report::write_report(of_child ? report::pattern_of_child(own, context) : own, report, context);
}

}  // namespace blastoff::api
