// The life of the process as Blastoff sees it: loaded, asked for the first time, forked, ending.
#pragma once

#include <atomic>

#include "decide/decider.h"
#include "report/record.h"
#include "runtime/session.h"
#include "runtime/settings.h"

namespace blastoff::runtime {

class Process {
 public:
  /// The one of this process. Reads the settings at the first call; never destroyed.
  static Process& instance();

  const Settings& settings() const { return settings_; }
  const decide::Decider& decider() const { return *decider_; }

  /// The session, started now if it never was; nullptr where there is none, with the reason in `why`.
  Session* session(report::Refusal& why);

  /// The report and the summary, once, where the process gets to end.
  void end();

 private:
  Process();
  void start_session();
  report::Context describe();

  const Settings settings_;
  const std::unique_ptr<decide::Decider> decider_;
  std::mutex mutex_;
  std::atomic<Session*> session_{nullptr};
  std::atomic<bool> tried_{false};
  std::string failure_;  // why there is no session
};

/// blas::volume() below which a call goes straight to the original; not-a-number (below which nothing is) until the
/// settings have been read, and where every call is to be logged.
extern std::atomic<double> floor_volume;

}  // namespace blastoff::runtime
