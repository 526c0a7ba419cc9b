// The file of a trace: lines that are appended in large pieces, and fewer of them as it grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "platform/stopwatch.h"

namespace blastoff::trace {

/// Not thread-safe. It is opened for every piece, since the program may close any descriptor. What it holds is on its
/// way to the disk a second after the call, if another call follows; or with the call itself, as far as that takes a
/// fifth of a second and a fiftieth of the time.
class File {
 public:
  /// `path`: of a file that exists. `limit`: the most bytes that it may get; `size`: those that it has. `at_once`: each
  /// call is written with itself.
  File(std::string path, std::size_t size, std::size_t limit, bool at_once)
      : path_(std::move(path)), limit_(limit), at_once_(at_once), size_(size) {}

  /// Whether the next call is to be recorded. From half of the limit on, 256 calls in a row of 512 are; from three
  /// quarters on, 256 of 1024; and so on, so that the limit is never reached.
  bool takes_next();

  /// So many calls stand for each that is recorded now.
  std::uint64_t weight() const { return std::uint64_t{1} << stage_; }

  /// A line without its end.
  void append(const std::string& line);

  /// Writes what has been collected. A file that cannot be written gets no more: one line on stderr.
  void flush();

 private:
  void write();
  bool due() const;

  const std::string path_;
  const std::size_t limit_;
  const bool at_once_;
  std::size_t size_;
  unsigned stage_ = 0;
  std::uint64_t calls_ = 0;  ///< since the stage began
  bool failed_ = false;
  std::string pending_;
  platform::Stopwatch since_flush_;
  const platform::Stopwatch since_begin_;
  double flush_seconds_ = 0;  ///< of all flushes
};

}  // namespace blastoff::trace
