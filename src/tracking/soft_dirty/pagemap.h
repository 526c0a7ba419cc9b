// What /proc/self/pagemap says of single pages (Documentation/admin-guide/mm/pagemap.rst).
#pragma once

#include <cstdint>

#include <tl/expected.hpp>

#include <string>

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
  bool of_file() const { return (word & of_file_bit) != 0; }  ///< of a file or shared memory
  bool swapped() const { return (word & swapped_bit) != 0; }  ///< or on its way to another place in memory (migration)
  bool present() const { return (word & present_bit) != 0; }
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
