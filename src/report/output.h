// Writing text to a descriptor at the end of a process, where nothing may block and no signal may end the program.
#pragma once

#include <csignal>
#include <ctime>
#include <string_view>

namespace blastoff::report {

/// A descriptor that closes itself. Where the program has closed its stderr, a new file must not become descriptor 2,
/// to which other threads may print.
class Output {
 public:
  explicit Output(int descriptor);
  ~Output() { close(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  int get() const { return descriptor_; }
  bool valid() const { return descriptor_ >= 0; }

  /// Writes all of it. A pipe or terminal that takes nothing is waited for, for two seconds in all: then errno is
  /// ETIMEDOUT.
  bool write(std::string_view text);

  /// Some file systems report a full disk only here.
  bool close();

 private:
  int descriptor_;
};

/// A file size limit or a reader that went away is an error while this lives, no signal that ends the program.
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
