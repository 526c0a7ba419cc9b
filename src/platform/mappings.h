// The kernel's list of this process's mappings, one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/memory_map.h"

namespace blastoff::platform {

/// What the kernel calls a file by.
struct FileNumber {
  std::uint32_t major = 0;  ///< of the device
  std::uint32_t minor = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileNumber&) const = default;
};

/// One mapping as the kernel reports it. Tracking part of a mapping splits it into several.
struct KernelMapping {
  Span span;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  MemoryKind kind = MemoryKind::other;
  FileNumber file;  ///< all 0 without a file
};

/// A view of the mappings. If the kernel can report single mappings (Linux 6.11), it is asked for each address;
/// otherwise the whole of /proc/self/maps is read once. A child of fork must not inherit one.
class Mappings {
 public:
  Mappings();
  ~Mappings();
  Mappings(const Mappings&) = delete;
  Mappings& operator=(const Mappings&) = delete;

  /// For tests: reads the text even if the kernel can report single mappings.
  struct FromText {};
  explicit Mappings(FromText);

  /// The mapping that covers the address, if any. `kind` does not distinguish MemoryKind::object_data from
  /// MemoryKind::file.
  std::optional<KernelMapping> covering(std::uintptr_t address);

  /// The same, with the exact kind: data of a file that also has code right below is that of a loaded object.
  std::optional<KernelMapping> describe(std::uintptr_t address);

  /// Whether the kernel can report single mappings.
  bool answer_questions();

  /// All mappings by ascending address, from the text.
  const std::vector<KernelMapping>& all();

 private:
  std::optional<KernelMapping> query(std::uintptr_t address, bool& answered) const;
  void read_text();

  int descriptor_ = -1;
  bool text_read_ = false;
  std::vector<KernelMapping> text_;
};

/// Whether every page of the span is mapped.
bool fully_mapped(Span span);

/// Parses one line of /proc/self/maps.
std::optional<KernelMapping> parse_mapping(std::string_view line);

}  // namespace blastoff::platform
