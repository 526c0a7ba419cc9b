#include "intercept/symbols/quick_look.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "intercept/symbols/name_search.h"
#include "platform/descriptor.h"

namespace blastoff::intercept {
namespace {

/// Smaller than what malloc takes from the kernel each time.
constexpr std::size_t buffer_bytes = std::size_t{64} << 10;

class QuickLook {
 public:
  explicit QuickLook(const char* path)
      : file_(::open(path, O_RDONLY | O_CLOEXEC)), buffer_(std::make_unique_for_overwrite<std::byte[]>(buffer_bytes)) {}

  bool may_name_routine() {
    Elf64_Ehdr header;
    if (!read_all(0, std::as_writable_bytes(std::span(&header, 1))) || !is_usual(header)) return true;
    sections_.resize(header.e_shnum);
    if (!read_all(header.e_shoff, std::as_writable_bytes(std::span(sections_)))) return true;
    if (header.e_shstrndx >= sections_.size() || has_compressed_symbols(sections_[header.e_shstrndx])) return true;
    bool dynamic = false;
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) continue;
      dynamic |= section.sh_type == SHT_DYNSYM;
      if (section.sh_link >= sections_.size() || has_routine(sections_[section.sh_link])) return true;
    }
    return !dynamic;
  }

 private:
  static bool is_usual(const Elf64_Ehdr& header) {
    constexpr std::size_t max_sections = 256;
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shnum != 0 &&
           header.e_shnum <= max_sections;
  }

  bool read_all(std::uint64_t offset, std::span<std::byte> bytes) const {
    return file_ && pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
                        static_cast<ssize_t>(bytes.size());
  }

  /// Reads the names of the sections. True also if there are too many.
  bool has_compressed_symbols(const Elf64_Shdr& names) {
    if (names.sh_size > buffer_bytes) return true;
    const std::span<std::byte> bytes(buffer_.get(), names.sh_size);
    if (!read_all(names.sh_offset, bytes)) return true;
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text.find(".gnu_debugdata") != std::string_view::npos;
  }

  /// Reads a table of names piece by piece. Each piece ends with a whole name.
  bool has_routine(const Elf64_Shdr& names) {
    for (std::uint64_t at = 0; at < names.sh_size;) {
      const std::span<std::byte> bytes(buffer_.get(), std::min<std::uint64_t>(names.sh_size - at, buffer_bytes));
      if (names.sh_type != SHT_STRTAB || !read_all(names.sh_offset + at, bytes)) return true;
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      const std::size_t end = text.rfind('\0');
      if (end == std::string_view::npos || next_routine_string(text.substr(0, end + 1), 0)) return true;
      at += end + 1;
    }
    return false;
  }

  platform::Descriptor file_;
  std::unique_ptr<std::byte[]> buffer_;
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace

bool may_name_routine(const char* path) {
  return QuickLook(path).may_name_routine();
}

}  // namespace blastoff::intercept
