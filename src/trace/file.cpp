#include "trace/file.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "platform/errno_guard.h"
#include "platform/log.h"
#include "report/output.h"

namespace blastoff::trace {
namespace {

constexpr std::size_t piece = std::size_t{64} << 10;
constexpr double longest_wait = 1;          // seconds
constexpr double affordable_flushes = 0.2;  // seconds; besides these, the share of the time below
constexpr double affordable_share = 0.02;
constexpr std::uint64_t burst = 256;

}  // namespace

bool File::takes_next() {
  if (failed_) return false;
  while (size_ > limit_ - (limit_ >> (stage_ + 1))) {
    if (limit_ >> (stage_ + 1) < piece) return false;
    ++stage_;
    calls_ = 0;
  }
  return calls_++ % (burst << stage_) < burst;
}

void File::append(const std::string& line) {
  pending_ += line;
  pending_ += '\n';
  size_ += line.size() + 1;
  if (pending_.size() >= piece || due()) flush();
}

bool File::due() const {
  if (since_flush_.seconds() > longest_wait) return true;
  return at_once_ && flush_seconds_ < affordable_flushes + affordable_share * since_begin_.seconds();
}

void File::flush() {
  const platform::Stopwatch stopwatch;
  if (!pending_.empty() && !failed_) {
    write();
    pending_.clear();
    flush_seconds_ += stopwatch.seconds();
  }
  since_flush_.restart();
}

void File::write() {
  const platform::ErrnoGuard errno_stays;
  const report::NoWriteSignals no_signals;
  report::Output file(open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW));
  if (file.valid() && file.write(pending_) && file.close()) return;
  failed_ = true;
  std::array<char, 128> cause{};
  platform::log_line("cannot write the trace %.400s: %s; it ends here", path_.c_str(),
                     strerror_r(errno, cause.data(), cause.size()));
}

}  // namespace blastoff::trace
