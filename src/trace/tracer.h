// --trace: records each call that is not small, and the memory that the program has written before it. docs/predict.md
// describes the file.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "operation/operation.h"
#include "report/context.h"
#include "report/recorder.h"
#include "trace/file.h"
#include "trace/writes.h"

namespace blastoff::trace {

/// The version of the format.
inline constexpr int version = 2;

/// Settings of a trace, and the data of its first line.
struct Setup {
  std::string pattern;      ///< pattern of the file's path: see report::report_pattern()
  std::size_t limit = 0;    ///< largest size of the file, in bytes
  double floor_volume = 0;  ///< calls with a smaller Work::volume are only counted
  std::int64_t min_size = 0;
  bool may_track = true;  ///< false: a device may be in use, which tracks the same memory
  tracking::TrackerKind tracker = tracking::TrackerKind::best;
  report::Context context;  ///< program, host, pid, rank
  std::chrono::steady_clock::time_point start;
  bool may_end_any_time = false;  ///< in a forked child, which often ends without notice: see File
};

/// Thread-safe. The first call creates the file.
class Tracer {
 public:
  explicit Tracer(Setup setup) : setup_(std::move(setup)) {}

  /// A call that has begun and not yet ended.
  struct Call {
    double start = 0;              ///< seconds since the start of the process
    std::uint64_t weight = 1;      ///< number of calls that it stands for
    const void* caller = nullptr;  ///< return address of the call
    std::string places;            ///< where its matrices were, before > after; "" if the CPU made the call
    std::string distributed;       ///< a JSON object about a call of all ranks of a grid; else ""
    Found found;
  };
  /// The result is to be passed to end(); nullptr for a call that is not recorded.
  Call* begin(const operation::Operation& operation, const void* caller);

  /// `seconds`: time on the CPU, without calls inside this call; nothing if the device made the call. `elapsed`: time
  /// including calls inside.
  void end(Call* call, const operation::Operation& operation, std::optional<double> seconds, double elapsed);

  /// Called when the process ends. Writes the totals of all calls, also if all of them were small.
  void finish(const report::Totals& totals);

 private:
  bool begin_file(bool may_track);
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - setup_.start).count();
  }
  void give_up();

  const Setup setup_;
  std::mutex mutex_;
  std::atomic<bool> given_up_{false};
  std::unique_ptr<Writes> writes_;
  std::unique_ptr<File> file_;
};

}  // namespace blastoff::trace
