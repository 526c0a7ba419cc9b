// The Python process beside a launcher (python/blastoff/run/helper.py). It does what needs Python: it reads energy
// counters, samples memory, folds counters of ended processes, sums up. It exists only if there is something to do.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "launcher/environment.h"
#include "launcher/failure.h"
#include "platform/descriptor.h"

namespace blastoff::launcher {

/// Launcher and helper send each other texts that end with a null character.
class Helper {
 public:
  /// Starts the command. Its standard input is the connection. It keeps standard error, and the files in `kept`.
  static Expected<Helper> start(const std::vector<std::string>& command, const Environment& environment,
                                const std::vector<int>& kept);
  Helper(Helper&&) noexcept = default;
  Helper& operator=(Helper&&) noexcept = default;

  void tell(const std::string& text) const;
  /// Waits for a text; "" if the helper has ended.
  std::string hear() const;
  /// Ends the connection, and waits for the end of the helper.
  void dismiss();

  int connection() const { return connection_.get(); }

 private:
  Helper(platform::Descriptor connection, pid_t pid) : connection_(std::move(connection)), pid_(pid) {}

  platform::Descriptor connection_;
  pid_t pid_;
};

}  // namespace blastoff::launcher
