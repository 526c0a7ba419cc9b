#include "report/call_log.h"

#include <fmt/format.h>

#include <iterator>

#include "platform/log.h"
#include "report/quantity.h"

namespace blastoff::report {

namespace {

using Line = std::back_insert_iterator<std::string>;

void write_traffic(Line line, const Record& record) {
  if (record.bytes_to_device > 0) fmt::format_to(line, ", {} to device", format_bytes(record.bytes_to_device));
  if (record.bytes_from_device > 0) fmt::format_to(line, ", {} back", format_bytes(record.bytes_from_device));
  if (record.bytes_reused > 0) fmt::format_to(line, ", {} reused", format_bytes(record.bytes_reused));
}

}  // namespace

std::string call_line(const Record& record, const operation::Operation* operation) {
  std::string text = record.symbol;
  const Line line(text);
  if (operation != nullptr) fmt::format_to(line, " {}", operation->arguments());
  if (record.refusal == Refusal::none) {
    fmt::format_to(line, ": device ({}), {}", record.policy, format_duration(record.seconds));
  } else {
    fmt::format_to(line, ": CPU ({}), {}", refusal_text(record.refusal), format_duration(record.seconds));
  }
  if (record.transfer_seconds > 0) {
    fmt::format_to(line, " ({} waiting for data)", format_duration(record.transfer_seconds));
  }
  write_traffic(line, record);
  if (record.verified) fmt::format_to(line, ", error {:.1e}", record.relative_error);
  if (record.stale_pages > 0) fmt::format_to(line, ", {} STALE PAGES", record.stale_pages);
  return text;
}

void log_call(const Record& record, const operation::Operation* operation) {
  platform::log_line("%s", call_line(record, operation).c_str());
}

}  // namespace blastoff::report
