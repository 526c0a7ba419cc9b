// Reads an ELF file. Nothing in the file is trusted: data outside the file counts as absent.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace blastoff::intercept {

/// The NUL-terminated string at `offset` of a string table; "" where there is none.
std::string_view string_at(std::string_view table, std::uint64_t offset);

/// The symbols of one table, and the string table with their names.
struct ElfSymbols {
  std::span<const std::byte> entries;
  std::string_view strings;

  std::size_t count() const { return entries.size() / sizeof(Elf64_Sym); }
  /// Copied: a malformed file may misplace the table by odd bytes.
  Elf64_Sym operator[](std::size_t index) const {
    Elf64_Sym symbol;
    std::memcpy(&symbol, entries.data() + index * sizeof symbol, sizeof symbol);
    return symbol;
  }
};

/// A 64-bit little-endian ELF file.
class ElfImage {
 public:
  /// nullopt: the bytes are not such a file.
  static std::optional<ElfImage> of(std::span<const std::byte> bytes);

  const Elf64_Ehdr& header() const { return header_; }
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }

  /// Returns the dynamic section's value for a tag.
  std::optional<std::uint64_t> dynamic(Elf64_Sxword tag) const;
  /// Returns the dynamic section's strings for a tag, in order.
  std::vector<std::string_view> dynamic_strings(Elf64_Sxword tag) const;

  /// Returns an empty table if the file has none. The dynamic symbols are found even without section headers.
  ElfSymbols dynamic_symbols() const;
  ElfSymbols static_symbols() const;
  /// Returns the dynamic symbol of this name, defined by the file, by the file's GNU hash table; nullopt: it has no
  /// such table, or the table does not know the name.
  std::optional<Elf64_Sym> find_defined(std::string_view name) const;
  /// Returns the contents of a section; empty if no section has that name.
  std::span<const std::byte> section(std::string_view name) const;

  /// Returns the file's bytes for [address, address + size) of a segment that is not writable.
  std::span<const std::byte> constant_bytes(std::uint64_t address, std::uint64_t size) const;
  /// Returns where the code section around `address` ends, or its segment if there are no sections; 0: no code there.
  std::uint64_t code_end(std::uint64_t address) const;

 private:
  std::span<const std::byte> slice(std::uint64_t offset, std::uint64_t size) const;
  template <class Entry>
  std::vector<Entry> table(std::uint64_t offset, std::size_t count, std::size_t entry_size) const;
  std::span<const std::byte> contents(const Elf64_Shdr& section) const;
  /// Returns the bytes from a loaded address to the end of its segment in the file.
  std::span<const std::byte> loaded_from(std::uint64_t address) const;
  std::string_view dynamic_string_table() const;
  ElfSymbols symbols_of_type(std::uint32_t type) const;
  std::size_t hashed_symbol_count() const;

  std::span<const std::byte> bytes_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Dyn> dynamic_;
};

}  // namespace blastoff::intercept
