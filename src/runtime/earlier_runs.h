// What earlier runs of the same command tell about this one: whether the device will gain more than opening it takes.
// Within one run, nobody knows how much is still to come: the device is opened when about as much time has been lost
// without it (runtime/opening.h). Nor does anybody know of a new matrix whether it will be used again. Most programs of
// a computing centre run again and again, and their next run knows.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/recorder.h"
#include "runtime/opening.h"

namespace blastoff::runtime {

/// What tells this process's command from others: program, arguments, working directory. Changes errno.
std::string command_of_process();
/// FNV-1a (Fowler, Noll, Vo).
std::uint64_t number_of(const std::string& text);
/// The file of a command in a folder of the user's cache; "" where the variables name none. Changes errno.
std::string path_in_cache(const char* folder, const std::string& command);

/// Of the calls of one run that were worth the device. Seconds.
struct RunTimes {
  double flops = 0;
  double cpu = 0;               ///< that all of them take on the CPU
  double device = 0;            ///< that all of them take on the device, once it is open
  double opening = 0;           ///< that opening the device took; 0: it was not opened
  bool carried_over = false;    ///< one side is what an earlier run has told
  bool opened_at_once = false;  ///< an earlier run had told that the device gains
  /// From when the library was loaded to the first of these calls; 0 where the device could not well have been opened
  /// meanwhile: the program forked, and its children may want the device, or it computed on all cores.
  double lead = 0;
};

/// `before_opening`: what the CPU computed until the device was open. `earlier`: where this run has timed less than
/// half of its work on one side, the other run's time counts there, rather than what is expected: runs that are judged
/// by times of different kinds would open the device in turns.
RunTimes times_of_run(const SpentOnCpu& before_opening, const report::Totals& totals, double opening_seconds,
                      const std::optional<RunTimes>& earlier);

/// `price`: of opening, in seconds, as the machine's model says. What passes before the first call costs little of it.
/// Whether a small gain is worth it nobody knows: then this run's way stays.
Opening::Foresight foresight(const RunTimes& run, double price);

/// Whether the device is to be opened when the library is loaded, beside what the program does before its first call.
bool opens_ahead(const RunTimes& run, double price);

/// The times of one command's last run, and the kinds of matrices that it used once, in a file of the user's cache.
/// Commands are told apart by a number, 64 bits of their program, arguments, working directory and `conditions`. The
/// folder holds at most 4096 small files, whatever runs: a command takes over the file of another one whose program,
/// arguments and directory have the same 12 bits.
class EarlierRuns {
 public:
  /// Whether there is a file that may tell of this command. Changes errno.
  static bool may_be_known();

  /// Changes errno. Nothing is found, and nothing kept, where the variables name no cache.
  explicit EarlierRuns(const std::string& conditions);

  const std::optional<RunTimes>& times() const { return times_; }
  /// residency::Policy::used_once().
  const std::vector<std::uint64_t>& used_once() const { return used_once_; }

  /// This run opens the device ahead: says so in the file until keep(). A run that does not come so far, because the
  /// open device stands in its way, is not followed by another one that does the same: times() has no lead then. Only
  /// where times() knows any. False: the file could not be written, so the device is not to be opened ahead.
  bool mark_ahead();

  /// Writes the file if the next run could go by it, and the times differ from those that are known by more than runs
  /// of one program do, or `used_once` does; without it, what is known stays. What is carried over counts as old as it
  /// was. A run without calls tells that it opened the device ahead for nothing, if it did. Silent where that fails.
  /// `price` as above. Changes errno.
  void keep(const RunTimes& run, double price,
            const std::optional<std::vector<std::uint64_t>>& used_once = std::nullopt) const;

 private:
  bool write(const RunTimes& run, const std::vector<std::uint64_t>& used_once, int opening_ahead) const;

  std::uint64_t command_;
  std::string path_;             ///< "": no cache
  std::chrono::seconds age_{0};  ///< of what is known
  std::optional<RunTimes> times_;
  std::vector<std::uint64_t> used_once_;
  bool marked_ = false;  ///< by this run
};

}  // namespace blastoff::runtime
