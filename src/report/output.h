// Writing text to a descriptor at the end of a process, where nothing may block and no signal may end the program.
#pragma once

#include <csignal>
#include <ctime>
#include <string_view>

namespace blastoff::report {

/// A descriptor that closes itself. It is never descriptor 2: if the program has closed its stderr, other threads may
/// still print there.
class Output {
 public:
  explicit Output(int descriptor);
  ~Output() { close(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  int get() const { return descriptor_; }
  bool valid() const { return descriptor_ >= 0; }

  /// Writes all of it. Waits at most two seconds in total for a pipe or terminal that takes nothing; then errno is
  /// ETIMEDOUT.
  bool write(std::string_view text);

  /// Some file systems report a full disk only here.
  bool close();

 private:
  int descriptor_;
};

/// While this lives, a file size limit, or a reader that has gone, causes an error instead of a signal that ends the
/// program.
class NoWriteSignals {
 public:
  NoWriteSignals();
  ~NoWriteSignals();
  NoWriteSignals(const NoWriteSignals&) = delete;
  NoWriteSignals& operator=(const NoWriteSignals&) = delete;

 private:
  sigset_t pending_{};
  sigset_t before_{};
};

}  // namespace blastoff::report
