// The soft-dirty bits of this process's pages: clearing them for the whole process, and checking that no write was
// lost.
#pragma once

#include <memory>
#include <string>

#include <tl/expected.hpp>

#include "platform/pagemap.h"

namespace blastoff::tracking {

using platform::Pagemap;
using platform::PagemapEntry;
using platform::Span;

/// The kernel sets a page's bit at its first write after a clear, and clears the bits of all pages of the process at
/// once. Not thread-safe. Only open() allocates.
class SoftDirtyBits {
 public:
  /// Checks on a page of our own that bits are set and cleared, since a kernel without them may accept all calls. The
  /// error is one line.
  static tl::expected<std::unique_ptr<SoftDirtyBits>, std::string> open();
  ~SoftDirtyBits();
  SoftDirtyBits(const SoftDirtyBits&) = delete;
  SoftDirtyBits& operator=(const SoftDirtyBits&) = delete;

  bool read(Span pages, PagemapEntry* entries) const { return pagemap_.read(pages, entries); }

  /// Clears all bits of the process and write-protects its pages. False: nothing was cleared. The file is opened anew
  /// each time. If we kept a descriptor and the program closed it, the program's next file might get the number, and we
  /// would write to that file.
  static platform::Descriptor prepare_clear();
  static bool clear(const platform::Descriptor& prepared);

  /// Whether nobody else (CRIU, another library) has cleared the bits since the last mark(): the page of our own that
  /// mark() wrote still reads as written.
  bool undisturbed() const;
  /// Takes one page fault after a clear, none otherwise.
  void mark();

  /// Page faults of this process up to now. A fault is counted before the instruction (or the kernel's copy) that took
  /// it writes. So equal counts before and after mean that no page was written in between that could not be written
  /// before. Writes by other processes (process_vm_writev, ptrace) are not counted here.
  struct Faults {
    std::uint64_t own = 0;     ///< of the calling thread
    std::uint64_t others = 0;  ///< of the other threads, including those that have ended
    friend bool operator==(Faults, Faults) = default;
  };
  static Faults faults();

 private:
  SoftDirtyBits(Pagemap pagemap, void* canary);
  tl::expected<void, std::string> try_out();

  Pagemap pagemap_;
  volatile char* canary_;
};

}  // namespace blastoff::tracking
