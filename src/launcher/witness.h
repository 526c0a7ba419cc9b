// Which signals the program got without the launcher, because they were sent to all processes of the launcher's group.
//
// Nothing in a signal tells whether it was sent to one process or to the whole group. So the launcher starts a witness:
// a process in the group that nobody knows and that only listens. A signal that the witness gets was sent to all: by a
// terminal, a shell or a batch system to the group, or by a batch system to each process in a list.
#pragma once

#include <sys/types.h>

#include <array>
#include <csignal>
#include <optional>

#include "platform/descriptor.h"

namespace blastoff::launcher {

/// The witness of this launcher, whose signals must be blocked.
class Witness {
 public:
  /// There is none if the machine allows no further process.
  Witness();
  /// Kills the witness and waits for its end.
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  /// Whether this signal, which the launcher has just got, was sent to the witness too; nullopt if there is no witness
  /// or it does not answer.
  std::optional<bool> heard(int number);

  /// The file from which answers are read.
  int pipe() const { return answers_.get(); }

 private:
  bool ask();
  bool is_stopped() const;
  void note(int number, double when);

  platform::Descriptor answers_;
  pid_t pid_ = -1;
  std::array<double, NSIG> heard_at_{};  ///< CLOCK_MONOTONIC; 0 if it was not heard, or has been told
};

}  // namespace blastoff::launcher
