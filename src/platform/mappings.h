// The kernel's list of this process's mappings, one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/memory_map.h"

namespace blastoff::platform {

/// One mapping as the kernel sees it. Registering part of it with a page tracker splits it in several.
struct KernelMapping {
  Span span;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  MemoryKind kind = MemoryKind::other;
};

/// A look at the mappings: by one question per address where the kernel can answer it (Linux 6.11), else from the whole
/// text of /proc/self/maps, read once. Not for a child of fork to inherit.
class Mappings {
 public:
  Mappings();
  ~Mappings();
  Mappings(const Mappings&) = delete;
  Mappings& operator=(const Mappings&) = delete;

  /// For tests: reads the text even where the kernel answers questions.
  struct FromText {};
  explicit Mappings(FromText);

  /// The mapping that covers the address, if any.
  std::optional<KernelMapping> covering(std::uintptr_t address);

  /// Whether the kernel answers them.
  bool answer_questions();

  /// All of them by ascending address, from the text.
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
