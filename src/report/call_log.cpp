#include "report/call_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "platform/confinement.h"
#include "platform/errno_guard.h"
#include "platform/log.h"
#include "platform/printable.h"
#include "platform/process.h"
#include "platform/quantity.h"
#include "platform/stopwatch.h"
#include "platform/threads.h"
#include "report/file.h"
#include "report/output.h"
#include "report/recorder.h"
#include "report/wall_time.h"

namespace blastoff::report {

namespace {

using platform::format_bytes;
using platform::format_duration;

constinit std::atomic<const CallLog*> the_log{nullptr};
[[gnu::tls_model("initial-exec")]] constinit thread_local double spent = 0;

using Line = std::back_insert_iterator<std::string>;

void write_traffic(Line line, const operation::TrafficCounters& traffic) {
  if (traffic.bytes_to_device > 0) fmt::format_to(line, ", {} to device", format_bytes(traffic.bytes_to_device));
  if (traffic.bytes_left > 0) fmt::format_to(line, ", {} stays there", format_bytes(traffic.bytes_left));
  if (traffic.bytes_between_devices > 0)
    fmt::format_to(line, ", {} between devices", format_bytes(traffic.bytes_between_devices));
  if (traffic.bytes_from_device > 0) fmt::format_to(line, ", {} back", format_bytes(traffic.bytes_from_device));
  if (traffic.bytes_reused > 0) fmt::format_to(line, ", {} reused", format_bytes(traffic.bytes_reused));
}

/// Says once in a process why lines come to stderr.
void tell_failure(const std::string& path, int error) {
  static std::atomic<bool> told{false};
  std::array<char, 128> cause{};
  if (!told.exchange(true))
    platform::log_line("cannot write calls to %.400s: %s; they are written here", path.c_str(),
                       strerror_r(error, cause.data(), cause.size()));
}

/// Opens the file for each line, since the program may close any descriptor. Returns false if that fails.
bool append_to_file(const CallLog& log, const std::string& line) {
  Context context;
  context.pid = getpid();
  context.rank = log.rank;
  context.host = platform::host_name();
  const platform::ErrnoGuard errno_stays;
  const NoWriteSignals no_signals;
  const std::string path = expand_path(log.file, context);
  const Output file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666));
  if (file.valid() && write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) return true;
  tell_failure(path, errno);
  return false;
}

void write_line(const Record& record, const operation::Operation* operation) {
  const CallLog& log = *the_log.load();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - log.start).count() + seconds_ahead();
  const std::string rank = log.rank < 0 ? "" : fmt::format(" rank {}", log.rank);
  const std::string line = fmt::format("{}{} {:.6f} s: {}", getpid(), rank, seconds, call_line(record, operation));
  if (log.file.empty() || !append_to_file(log, platform::printable(line) + "\n"))
    platform::log_line("%s", line.c_str());
}

}  // namespace

std::string call_line(const Record& record, const operation::Operation* operation) {
  std::string text = record.symbol;
  const Line line(text);
  if (operation != nullptr) fmt::format_to(line, " {}", operation->arguments());
  if (record.refusal == Refusal::none) {
    if (record.parts > 1)
      fmt::format_to(line, ": {} devices ({}), {}", record.parts, record.policy, format_duration(record.seconds));
    else
      fmt::format_to(line, ": device ({}), {}", record.policy, format_duration(record.seconds));
  } else {
    fmt::format_to(line, ": CPU ({}), {}", refusal_text(record.refusal), format_duration(record.seconds));
  }
  if (record.traffic.transfer_seconds > 0) {
    fmt::format_to(line, " ({} waiting for data)", format_duration(record.traffic.transfer_seconds));
  }
  write_traffic(line, record.traffic);
  if (record.places != nullptr && !record.places->empty()) fmt::format_to(line, ", matrices {}", *record.places);
  if (record.verified) fmt::format_to(line, ", error {:.1e}", record.relative_error);
  if (record.traffic.stale_pages > 0) fmt::format_to(line, ", {} STALE PAGES", record.traffic.stale_pages);
  return text;
}

void log_calls(const CallLog& log) {
  the_log = new CallLog{log.file.empty() ? "" : report_pattern(log.file, ".log"), log.rank, log.start};
}

bool logs_calls() {
  return the_log.load(std::memory_order_relaxed) != nullptr && !platform::confined();
}

double seconds_of_logging() {
  return spent;
}

void log_call(const Record& record, const operation::Operation* operation) {
  if (!logs_calls()) return;
  const ApartFromCalls apart;
  const platform::Stopwatch stopwatch;
  platform::undisturbed([&] { write_line(record, operation); });
  spent += stopwatch.seconds();
}

}  // namespace blastoff::report
