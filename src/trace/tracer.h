// --trace: what each call that is not small was, and what the program had written before it. docs/predict.md describes
// the file.
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
inline constexpr int version = 1;

/// What a trace begins with, and what it goes by.
struct Setup {
  std::string pattern;      ///< of the file: see report::report_pattern()
  std::size_t limit = 0;    ///< bytes
  double floor_volume = 0;  ///< calls with a smaller Work::volume are counted only
  std::int64_t min_size = 0;
  bool may_track = true;  ///< false: a device may be used, which tracks the same memory
  tracking::TrackerKind tracker = tracking::TrackerKind::best;
  report::Context context;  ///< program, host, pid, rank
  std::chrono::steady_clock::time_point start;
  bool may_end_any_time = false;  ///< a forked child, which often ends without a word: see File
};

/// Thread-safe. The file is begun by the first call.
class Tracer {
 public:
  explicit Tracer(Setup setup) : setup_(std::move(setup)) {}

  /// A call from its begin to its end.
  struct Call {
    double start = 0;              ///< seconds since the start of the process
    std::uint64_t weight = 1;      ///< calls that it stands for
    const void* caller = nullptr;  ///< where it returns to
    Found found;
  };
  /// To be given to end(); nullptr for a call that is not recorded.
  Call* begin(const operation::Operation& operation, const void* caller);

  /// `seconds`: of the CPU, without calls inside the call; nothing where the device made it. `elapsed`: with these.
  void end(Call* call, const operation::Operation& operation, std::optional<double> seconds, double elapsed);

  /// The process ends: the totals of all calls.
  void finish(const report::Totals& totals);

 private:
  bool begin_file();
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
