// Earlier runs of the same command tell whether the device will gain more than opening it takes. Within one run, nobody
// knows how much work is still to come: the device is opened when the program has lost about as much time without it
// (runtime/open_policy.h). Nobody knows either whether a new matrix will be used again. Most programs of a computing
// centre run again and again, so the next run can know both.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/context.h"
#include "report/earlier_run.h"
#include "report/recorder.h"
#include "runtime/open_policy.h"

namespace blastoff::runtime {

/// The program, arguments and working directory of this process, which tell its command from others. Changes errno.
std::string command_of_process();
/// Path of a command's file in a folder of the user's cache; "" if the environment names no cache. Changes errno.
std::string path_in_cache(const char* folder, const std::string& command);

/// Times of those calls of one run that were worth the device, in seconds of wall time.
struct RunTimes {
  double flops = 0;
  double cpu = 0;               ///< of all these calls on the CPU
  double device = 0;            ///< of all these calls on the device, once it is open
  double opening = 0;           ///< of opening the device and closing it; 0: it was not opened
  bool carried_over = false;    ///< `cpu` or `device` comes from an earlier run
  bool opened_at_once = false;  ///< an earlier run had told that the device gains
  bool for_all = false;         ///< one rank made most of these calls for all, or would have made them soon
  /// From the loading of the library to the first of these calls. 0 if the device could not well have been opened in
  /// that time: the program forked, and its children may want the device, or it computed on all cores.
  double lead = 0;
  /// Whole runs with as much work as this one: those that opened the device at their first call or before, and those
  /// without it. Their times include what no call shows: how opening and closing slow down the rest of the program. If
  /// this run has opened the device later, and there was no other one, `with_device` is an estimate, and its `runs` 0.
  report::EarlierRun with_device = {};
  report::EarlierRun without_device = {};
};

/// `before_opening`: what the CPU computed until the device was open. `earlier`: if this run has timed less than half
/// of its work on the CPU or on the device, the earlier run's time counts there, rather than the expected one.
/// Otherwise measured times of one run would be compared with expected times of the next, and the device would be
/// opened in every second run. If runs on the CPU are known, a whole run with the device counts by what it has saved
/// against them (report::saved_against()), since other things than calls differ from run to run, too.
RunTimes times_of_run(const SpentOnCpu& before_opening, const report::Totals& totals, const report::Context& context,
                      const std::optional<RunTimes>& earlier);

/// `price`: by the machine model. For ranks, that of the whole job counts, unless one rank makes the calls for all. The
/// time between loading and the first call is taken off the price, but a quarter of it always counts. A gain of less
/// than a quarter more than the price may be chance: then the next run does what this one did. A gain of less than four
/// times the price does not count if whole runs with the device took longer than those without it. If they took less by
/// a quarter of the price, the device gains, whatever calls tell. For ranks that leave no core idle, a gain of less
/// than four times the price of the job counts only if whole runs with the device took less. Until both are known, a
/// gain of twice the price is enough.
OpenPolicy::Foresight foresight(const RunTimes& run, OpeningPrice price);

/// Seconds. If the first call comes later, the device is not opened ahead: it would take memory from others for
/// nothing.
constexpr double longest_lead = 5;

/// Whether to open the device when the library is loaded, beside what the program does before its first call.
bool opens_ahead(const RunTimes& run, OpeningPrice price);

/// The times of one command's last run, and the kinds of matrices that it used once, in a file of the user's cache. A
/// command is known by a hash of 64 bits: of its program, arguments, working directory and `conditions`. The folder
/// never holds more than 4096 small files: a command takes over the file of another one if the hashes of program,
/// arguments and directory have the same first 12 bits.
class RunHistory {
 public:
  /// Whether there is a readable file that may be this command's. Changes errno.
  static bool may_be_known();

  /// Changes errno. Finds and keeps nothing if the environment names no cache.
  explicit RunHistory(const std::string& conditions);

  const std::optional<RunTimes>& times() const { return times_; }
  /// What residency::Policy::used_once() returned in the earlier run.
  const std::vector<std::uint64_t>& used_once() const { return used_once_; }

  /// Writes into the file that this run opens the device ahead; keep() removes the mark. If a run never reaches keep(),
  /// for example because the open device disturbs it, the next run finds the mark, its times() have no lead, and it
  /// does not open the device ahead. Requires times(). Returns false if the file could not be written; then the device
  /// is not to be opened ahead.
  bool mark_ahead();

  /// Writes the file if the next run can use it and the times differ from the known ones by more than equal runs do, or
  /// if `used_once` differs. Without `used_once`, the known kinds stay. Times that are carried over keep their age. If
  /// a run that opened the device ahead made no call, the known times lose their lead. Silent if writing fails. `price`
  /// as for foresight(). Changes errno.
  void keep(const RunTimes& run, OpeningPrice price,
            const std::optional<std::vector<std::uint64_t>>& used_once = std::nullopt) const;

 private:
  bool write(const RunTimes& run, const std::vector<std::uint64_t>& used_once, int opening_ahead) const;

  std::uint64_t command_;
  std::string path_;             ///< "" if there is no cache
  std::chrono::seconds age_{0};  ///< of the file that was read
  std::optional<RunTimes> times_;
  std::vector<std::uint64_t> used_once_;
  bool marked_ = false;  ///< this run has written its mark (mark_ahead())
};

}  // namespace blastoff::runtime
