// What /proc/self/pagemap says of single pages (Documentation/admin-guide/mm/pagemap.rst).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "platform/descriptor.h"
#include "platform/span.h"

namespace blastoff::platform {

struct PagemapEntry {
  static constexpr std::uint64_t soft_dirty_bit = std::uint64_t{1} << 55;
  static constexpr std::uint64_t exclusive_bit = std::uint64_t{1} << 56;
  static constexpr std::uint64_t of_file_bit = std::uint64_t{1} << 61;
  static constexpr std::uint64_t swapped_bit = std::uint64_t{1} << 62;
  static constexpr std::uint64_t present_bit = std::uint64_t{1} << 63;

  std::uint64_t word = 0;

  bool soft_dirty() const { return (word & soft_dirty_bit) != 0; }  ///< or its mapping is newer than the last clear
  /// The page is mapped here alone: neither the zero page nor shared by fork.
  bool exclusive() const { return (word & exclusive_bit) != 0; }
  bool of_file() const { return (word & of_file_bit) != 0; }  ///< of a file or of shared memory
  bool swapped() const { return (word & swapped_bit) != 0; }  ///< or on its way to another place in memory (migration)
  bool present() const { return (word & present_bit) != 0; }
};

/// /proc/self/pagemap, opened again if the program has closed it or reused its number for a file of its own.
/// Thread-safe.
class PagemapFile {
 public:
  /// The error is one line.
  static tl::expected<std::unique_ptr<PagemapFile>, std::string> open();

  /// The descriptor; -1 if it was closed and the file cannot be opened again.
  int get();

 private:
  int reopen();

  std::mutex mutex_;
  std::vector<std::unique_ptr<GuardedDescriptor>> files_;  ///< the latest, and those that the program closed
  std::atomic<const GuardedDescriptor*> file_{nullptr};    ///< the latest
};

/// Fills `entries`, one for each page of the span, from an open /proc/self/pagemap. Allocates nothing. False: the file
/// cannot be read.
bool read_pagemap(int pagemap, Span pages, PagemapEntry* entries);

class Pagemap {
 public:
  /// The error is one line.
  static tl::expected<Pagemap, std::string> open();

  /// As read_pagemap().
  bool read(Span pages, PagemapEntry* entries) const { return read_pagemap(file_->get(), pages, entries); }

 private:
  explicit Pagemap(std::unique_ptr<PagemapFile> file) : file_(std::move(file)) {}

  std::unique_ptr<PagemapFile> file_;
};

}  // namespace blastoff::platform
