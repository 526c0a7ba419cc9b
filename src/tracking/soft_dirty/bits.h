// The soft-dirty bits of this process's pages: the process-wide clear, and what proves that it lost nothing.
#pragma once

#include <memory>
#include <string>

#include <tl/expected.hpp>

#include "tracking/soft_dirty/pagemap.h"

namespace blastoff::tracking {

/// The kernel sets a page's bit at its first write after a clear, and clears the bits of all pages of the process at
/// once. Not thread-safe. Nothing here allocates, apart from open().
class SoftDirtyBits {
 public:
  /// Tries on a page of our own whether bits are set and cleared: a kernel without them may accept all calls. The error
  /// is one line.
  static tl::expected<std::unique_ptr<SoftDirtyBits>, std::string> open();
  ~SoftDirtyBits();
  SoftDirtyBits(const SoftDirtyBits&) = delete;
  SoftDirtyBits& operator=(const SoftDirtyBits&) = delete;

  bool read(Span pages, PagemapEntry* entries) const { return pagemap_.read(pages, entries); }

  /// Clears all bits of the process and write-protects its pages. False: it was not done. The file for it is opened
  /// anew each time: were the program to close a descriptor of ours, its next file might get the number, and the text.
  static platform::Descriptor prepare_clear();
  static bool clear(const platform::Descriptor& prepared);

  /// Whether nobody else (CRIU, another library) has cleared the bits since mark() was last called: a page of our own
  /// that was written then is found written still.
  bool undisturbed() const;
  /// Takes one page fault after a clear, none otherwise.
  void mark();

  /// Page faults of this process up to now. A fault counts before the instruction (or the copying kernel code) that
  /// took it writes: equal counts before and after mean that no page that could not be written before was written in
  /// between. Only other processes' writes (process_vm_writev, ptrace) count elsewhere.
  struct Faults {
    std::uint64_t own = 0;     ///< of the calling thread
    std::uint64_t others = 0;  ///< of the other threads, those that have ended included
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
