// The file of a trace. Lines are appended in large pieces, and fewer of them as the file grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "platform/stopwatch.h"

namespace blastoff::trace {

/// Not thread-safe. The file is opened for every piece, because the program may close any descriptor. A call's line is
/// written at most a second after the call, if another call follows. With `at_once`, it is written with the call
/// itself, as long as this takes no more than a fifth of a second and a fiftieth of the time.
class File {
 public:
  /// `path`: path of an existing file. `size`: its size in bytes. `limit`: its largest size. `at_once`: write each
  /// call's line with the call.
  File(std::string path, std::size_t size, std::size_t limit, bool at_once)
      : path_(std::move(path)), limit_(limit), at_once_(at_once), size_(size) {}

  /// Whether the next call is to be recorded. When the file has half of its largest size, 256 of every 512 calls are
  /// recorded; from three quarters on, 256 of every 1024; and so on, so that the limit is never reached.
  bool takes_next();

  /// The number of calls that one recorded call now represents.
  std::uint64_t weight() const { return std::uint64_t{1} << stage_; }

  /// `line`: without the newline.
  void append(const std::string& line);

  /// Writes the collected lines. If the file cannot be written, prints one line on stderr and writes no more.
  void flush();

 private:
  void write();
  bool due() const;

  const std::string path_;
  const std::size_t limit_;
  const bool at_once_;
  std::size_t size_;
  unsigned stage_ = 0;
  std::uint64_t calls_ = 0;  ///< calls since the stage began
  bool failed_ = false;
  std::string pending_;
  platform::Stopwatch since_flush_;
  const platform::Stopwatch since_begin_;
  double flush_seconds_ = 0;  ///< sum over all flushes
};

}  // namespace blastoff::trace
