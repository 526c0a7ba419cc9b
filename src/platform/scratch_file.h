// Bytes that a file keeps for a while. The file has no name, and is gone when the process ends.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

#include "platform/descriptor.h"
#include "platform/interval_set.h"

namespace blastoff::platform {

/// The file is made by the first write, in the directory that TMPDIR names, or in /var/tmp. Thread-safe.
class ScratchFile {
 public:
  /// Writes bytes where the file has room, and sets `where`. Returns why that is not possible; "" if it is done.
  std::string write(const void* bytes, std::size_t size, Span& where);
  /// Reads them. Returns why that is not possible; "" if it is done.
  std::string read(Span where, void* bytes);
  /// They are not needed any more: gives the room back.
  void drop(Span where);

 private:
  std::string open_file();
  Span take_room(std::size_t size);
  int descriptor();

  std::mutex mutex_;
  GuardedDescriptor file_;
  IntervalSet free_;  // offsets below end_
  std::uintptr_t end_ = 0;
};

}  // namespace blastoff::platform
