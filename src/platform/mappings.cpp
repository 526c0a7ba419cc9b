#include "platform/mappings.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "platform/kernel_interface.h"

namespace blastoff::platform {
namespace {

/// The properties of a mapping, from either of the two sources.
struct Traits {
  bool readable = false;
  bool writable = false;
  bool shared = false;
  bool has_file = false;
  bool huge_tlb = false;
  std::string_view name;
};

MemoryKind classify(const Traits& traits) {
  if (traits.huge_tlb) return MemoryKind::huge_tlb;
  if (traits.shared) return MemoryKind::shared;
  if (traits.has_file) return MemoryKind::file;
  if (!traits.readable || !traits.writable) return MemoryKind::other;
  if (traits.name == "[stack]") return MemoryKind::stack;
  const bool plain = traits.name.empty() || traits.name == "[heap]" || traits.name.starts_with("[anon:");
  return plain ? MemoryKind::anonymous : MemoryKind::other;
}

template <class Integer>
bool take_number(std::string_view& text, Integer& value, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace

std::optional<KernelMapping> parse_mapping(std::string_view line) {
  KernelMapping mapping;
  if (!take_number(line, mapping.span.begin, 16) || !line.starts_with('-')) return std::nullopt;
  line.remove_prefix(1);
  if (!take_number(line, mapping.span.end, 16)) return std::nullopt;
  const std::string_view permissions = take_word(line);
  if (permissions.size() < 4) return std::nullopt;
  take_word(line);  // offset
  std::string_view device = take_word(line);
  std::string_view inode = take_word(line);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));

  mapping.readable = permissions[0] == 'r';
  mapping.writable = permissions[1] == 'w';
  mapping.executable = permissions[2] == 'x';
  const bool numbered = take_number(device, mapping.file.major, 16) && device.starts_with(':');
  if (!numbered) return std::nullopt;
  device.remove_prefix(1);
  if (!take_number(device, mapping.file.minor, 16) || !take_number(inode, mapping.file.inode, 10)) return std::nullopt;
  mapping.kind = classify({.readable = mapping.readable,
                           .writable = mapping.writable,
                           .shared = permissions[3] == 's',
                           .has_file = mapping.file.inode != 0,
                           .huge_tlb = line.starts_with("/anon_hugepage"),
                           .name = line});
  return mapping;
}

// MS_ASYNC visits the mappings one by one, and has no other effect.
bool fully_mapped(Span span) {
  return msync(reinterpret_cast<void*>(span.begin), span.bytes(), MS_ASYNC) == 0;
}

Mappings::Mappings() : descriptor_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
Mappings::Mappings(FromText) : Mappings() {
  read_text();
}
Mappings::~Mappings() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<KernelMapping> Mappings::query(std::uintptr_t address, bool& answered) const {
  char name[64] = {};  // a longer name does not fit, and the query fails with ENAMETOOLONG: the mapping has a file
  kernel::ProcmapQuery request{};
  request.size = sizeof request;
  request.query_addr = address;
  request.vma_name_size = sizeof name;
  request.vma_name_addr = reinterpret_cast<std::uintptr_t>(name);
  int result = ioctl(descriptor_, kernel::procmap_query, &request);
  if (result != 0 && errno == ENAMETOOLONG) {
    request.vma_name_size = 0;
    request.vma_name_addr = 0;
    std::strcpy(name, "/");
    result = ioctl(descriptor_, kernel::procmap_query, &request);
  }
  answered = result == 0 || errno == ENOENT;
  if (result != 0) return std::nullopt;

  KernelMapping mapping;
  mapping.span = {request.vma_start, request.vma_end};
  mapping.readable = (request.vma_flags & kernel::vma_readable) != 0;
  mapping.writable = (request.vma_flags & kernel::vma_writable) != 0;
  mapping.executable = (request.vma_flags & kernel::vma_executable) != 0;
  mapping.file = {request.dev_major, request.dev_minor, request.inode};
  mapping.kind = classify({.readable = mapping.readable,
                           .writable = mapping.writable,
                           .shared = (request.vma_flags & kernel::vma_shared) != 0,
                           .has_file = request.inode != 0,
                           .huge_tlb = request.vma_page_size > page_size(),
                           .name = name});
  return mapping;
}

bool Mappings::answer_questions() {
  bool answered = false;
  if (!text_read_) (void)query(reinterpret_cast<std::uintptr_t>(this), answered);
  return answered;
}

void Mappings::read_text() {
  text_read_ = true;
  std::string text;
  char buffer[16384];
  lseek(descriptor_, 0, SEEK_SET);
  for (;;) {
    const ssize_t bytes = read(descriptor_, buffer, sizeof buffer);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    text.append(buffer, static_cast<std::size_t>(bytes));
  }
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (const auto mapping = parse_mapping(line)) text_.push_back(*mapping);
  }
}

const std::vector<KernelMapping>& Mappings::all() {
  if (!text_read_) read_text();
  return text_;
}

std::optional<KernelMapping> Mappings::covering(std::uintptr_t address) {
  if (!text_read_) {
    bool answered = false;
    const auto mapping = query(address, answered);
    if (answered) return mapping;
    read_text();
  }
  const auto next = std::upper_bound(text_.begin(), text_.end(), address,
                                     [](std::uintptr_t value, const KernelMapping& m) { return value < m.span.end; });
  if (next == text_.end() || address < next->span.begin) return std::nullopt;
  return *next;
}

std::optional<KernelMapping> Mappings::describe(std::uintptr_t address) {
  auto mapping = covering(address);
  if (!mapping || mapping->kind != MemoryKind::file || !mapping->readable || !mapping->writable) return mapping;
  // An object's segments touch each other, and its code comes before its data.
  for (auto below = covering(mapping->span.begin - 1); below && below->file == mapping->file;
       below = covering(below->span.begin - 1)) {
    if (below->executable) {
      mapping->kind = MemoryKind::object_data;
      break;
    }
  }
  return mapping;
}

}  // namespace blastoff::platform
