// What /proc/self/pagemap says of single pages (Documentation/admin-guide/mm/pagemap.rst).
#pragma once

#include <cstdint>

#include <tl/expected.hpp>

#include <string>

#include "platform/descriptor.h"
#include "platform/span.h"

namespace blastoff::platform {

struct PagemapEntry {
  std::uint64_t word = 0;

  bool soft_dirty() const { return bit(55); }  ///< or its whole mapping is newer than the last clear
  bool exclusive() const {
    return bit(56);
  }                                         ///< the page is mapped here alone: neither the zero page nor shared by fork
  bool of_file() const { return bit(61); }  ///< of a file or shared memory
  bool swapped() const { return bit(62); }  ///< or on its way to another place in memory (migration)
  bool present() const { return bit(63); }

 private:
  bool bit(int number) const { return (word >> number & 1) != 0; }
};

class Pagemap {
 public:
  /// The error is one line.
  static tl::expected<Pagemap, std::string> open();

  /// Fills `entries`, one for each page of the span. No allocation. False where the kernel does not answer.
  bool read(Span pages, PagemapEntry* entries) const;

 private:
  explicit Pagemap(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
};

}  // namespace blastoff::platform
