#include "intercept/symbols/elf_image.h"

#include <algorithm>
#include <array>

namespace blastoff::intercept {
namespace {

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Value>
std::optional<Value> value_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Value)) return std::nullopt;
  Value value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// Returns the number of symbols in the table to which a GNU hash table belongs. Its chains are in the order of the
/// symbol table.
std::size_t gnu_hash_symbol_count(std::span<const std::byte> table) {
  const auto header = value_at<std::array<std::uint32_t, 4>>(table, 0);
  if (!header) return 0;
  const auto [bucket_count, first_symbol, bloom_words, bloom_shift] = *header;
  const std::uint64_t buckets = sizeof *header + std::uint64_t{bloom_words} * sizeof(std::uint64_t);
  std::uint32_t last = 0;
  for (std::uint64_t bucket = 0; bucket < bucket_count; ++bucket) {
    const auto start = value_at<std::uint32_t>(table, buckets + bucket * sizeof last);
    if (!start) return 0;
    last = std::max(last, *start);
  }
  if (last < first_symbol) return first_symbol;
  const std::uint64_t chains = buckets + std::uint64_t{bucket_count} * sizeof last;
  for (std::uint64_t symbol = last;; ++symbol) {
    const auto hash = value_at<std::uint32_t>(table, chains + (symbol - first_symbol) * sizeof last);
    if (!hash) return 0;
    if ((*hash & 1) != 0) return symbol + 1;
  }
}

std::uint32_t gnu_hash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
  return hash;
}

}  // namespace

std::string_view string_at(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return {};
  const std::string_view rest = table.substr(offset);
  const std::size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

std::optional<ElfImage> ElfImage::of(std::span<const std::byte> bytes) {
  const auto header = value_at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB)
    return std::nullopt;
  ElfImage image;
  image.bytes_ = bytes;
  image.header_ = *header;
  image.segments_ = image.table<Elf64_Phdr>(header->e_phoff, header->e_phnum, header->e_phentsize);
  image.sections_ = image.table<Elf64_Shdr>(header->e_shoff, header->e_shnum, header->e_shentsize);
  for (const Elf64_Phdr& segment : image.segments_) {
    if (segment.p_type != PT_DYNAMIC) continue;
    image.dynamic_ = image.table<Elf64_Dyn>(segment.p_offset, segment.p_filesz / sizeof(Elf64_Dyn), sizeof(Elf64_Dyn));
    const auto end = std::find_if(image.dynamic_.begin(), image.dynamic_.end(),
                                  [](const Elf64_Dyn& entry) { return entry.d_tag == DT_NULL; });
    image.dynamic_.erase(end, image.dynamic_.end());
  }
  return image;
}

std::span<const std::byte> ElfImage::slice(std::uint64_t offset, std::uint64_t size) const {
  if (offset > bytes_.size() || bytes_.size() - offset < size) return {};
  return bytes_.subspan(offset, size);
}

template <class Entry>
std::vector<Entry> ElfImage::table(std::uint64_t offset, std::size_t count, std::size_t entry_size) const {
  const std::span<const std::byte> stored = slice(offset, count * sizeof(Entry));
  if (stored.empty() || entry_size != sizeof(Entry)) return {};
  std::vector<Entry> entries(count);
  std::memcpy(entries.data(), stored.data(), stored.size());
  return entries;
}

std::span<const std::byte> ElfImage::contents(const Elf64_Shdr& section) const {
  return section.sh_type == SHT_NOBITS ? std::span<const std::byte>{} : slice(section.sh_offset, section.sh_size);
}

std::span<const std::byte> ElfImage::section(std::string_view name) const {
  if (header_.e_shstrndx >= sections_.size()) return {};
  const std::string_view names = text(contents(sections_[header_.e_shstrndx]));
  for (const Elf64_Shdr& section : sections_)
    if (string_at(names, section.sh_name) == name) return contents(section);
  return {};
}

std::optional<std::uint64_t> ElfImage::dynamic(Elf64_Sxword tag) const {
  for (const Elf64_Dyn& entry : dynamic_)
    if (entry.d_tag == tag) return entry.d_un.d_val;
  return std::nullopt;
}

std::vector<std::string_view> ElfImage::dynamic_strings(Elf64_Sxword tag) const {
  const std::string_view strings = dynamic_string_table();
  std::vector<std::string_view> found;
  for (const Elf64_Dyn& entry : dynamic_)
    if (entry.d_tag == tag) found.push_back(string_at(strings, entry.d_un.d_val));
  return found;
}

std::string_view ElfImage::dynamic_string_table() const {
  const auto address = dynamic(DT_STRTAB);
  if (!address) return {};
  const std::string_view rest = text(loaded_from(*address));
  return rest.substr(0, dynamic(DT_STRSZ).value_or(rest.size()));
}

ElfSymbols ElfImage::dynamic_symbols() const {
  const ElfSymbols listed = symbols_of_type(SHT_DYNSYM);
  if (listed.count() != 0) return listed;
  const auto address = dynamic(DT_SYMTAB);
  if (!address) return {};
  const std::span<const std::byte> rest = loaded_from(*address);
  const std::size_t count = std::min(hashed_symbol_count(), rest.size() / sizeof(Elf64_Sym));
  return {rest.first(count * sizeof(Elf64_Sym)), dynamic_string_table()};
}

ElfSymbols ElfImage::static_symbols() const {
  return symbols_of_type(SHT_SYMTAB);
}

ElfSymbols ElfImage::symbols_of_type(std::uint32_t type) const {
  for (const Elf64_Shdr& section : sections_)
    if (section.sh_type == type && section.sh_link < sections_.size())
      return {contents(section), text(contents(sections_[section.sh_link]))};
  return {};
}

std::optional<Elf64_Sym> ElfImage::find_defined(std::string_view name) const {
  const auto address = dynamic(DT_GNU_HASH);
  const std::span<const std::byte> table = address ? loaded_from(*address) : std::span<const std::byte>{};
  const auto header = value_at<std::array<std::uint32_t, 4>>(table, 0);
  if (!header || header->front() == 0) return std::nullopt;
  const auto [bucket_count, first_symbol, bloom_words, bloom_shift] = *header;
  const std::uint64_t buckets = sizeof *header + std::uint64_t{bloom_words} * sizeof(std::uint64_t);
  const std::uint64_t chains = buckets + std::uint64_t{bucket_count} * sizeof(std::uint32_t);
  const std::uint32_t hash = gnu_hash(name);
  const auto first = value_at<std::uint32_t>(table, buckets + hash % bucket_count * sizeof(std::uint32_t));
  if (!first || *first < first_symbol) return std::nullopt;
  const ElfSymbols symbols = dynamic_symbols();
  for (std::uint64_t index = *first; index < symbols.count(); ++index) {
    const auto entry = value_at<std::uint32_t>(table, chains + (index - first_symbol) * sizeof(std::uint32_t));
    if (!entry) return std::nullopt;
    const Elf64_Sym symbol = symbols[index];
    const bool same = (*entry | 1U) == (hash | 1U) && string_at(symbols.strings, symbol.st_name) == name;
    if (same && symbol.st_shndx != SHN_UNDEF) return symbol;
    if ((*entry & 1U) != 0) return std::nullopt;
  }
  return std::nullopt;
}

std::size_t ElfImage::hashed_symbol_count() const {
  if (const auto table = dynamic(DT_HASH))
    return value_at<std::uint32_t>(loaded_from(*table), sizeof(std::uint32_t)).value_or(0);
  if (const auto table = dynamic(DT_GNU_HASH)) return gnu_hash_symbol_count(loaded_from(*table));
  return 0;
}

std::span<const std::byte> ElfImage::loaded_from(std::uint64_t address) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const std::span<const std::byte> stored = slice(segment.p_offset, segment.p_filesz);
    if (address - segment.p_vaddr < stored.size()) return stored.subspan(address - segment.p_vaddr);
  }
  return {};
}

std::span<const std::byte> ElfImage::constant_bytes(std::uint64_t address, std::uint64_t size) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0 || address < segment.p_vaddr) continue;
    const std::span<const std::byte> stored = slice(segment.p_offset, segment.p_filesz);
    const std::uint64_t into = address - segment.p_vaddr;
    if (into <= stored.size() && stored.size() - into >= size) return stored.subspan(into, size);
  }
  return {};
}

std::uint64_t ElfImage::code_end(std::uint64_t address) const {
  const auto end_within = [&](std::uint64_t begin, std::uint64_t size) {
    return begin <= address && address - begin < size ? begin + size : std::uint64_t{0};
  };
  std::uint64_t end = 0;
  for (const Elf64_Phdr& segment : segments_)
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0)
      end = std::max(end, end_within(segment.p_vaddr, segment.p_filesz));
  if (end == 0) return 0;
  for (const Elf64_Shdr& section : sections_)
    if ((section.sh_flags & SHF_EXECINSTR) != 0)
      if (const std::uint64_t section_end = end_within(section.sh_addr, section.sh_size))
        end = std::min(end, section_end);
  return end;
}

}  // namespace blastoff::intercept
