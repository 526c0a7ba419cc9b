#include "intercept/symbols/function_symbols.h"

#include <algorithm>
#include <utility>

#include "intercept/symbols/name_search.h"

namespace blastoff::intercept {
namespace {

/// No patch is longer: a landing pad and the longest jump.
constexpr std::uint64_t entry_size = 32;

bool is_function(const Elf64_Sym& symbol) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS;
}

bool is_exported(const Elf64_Sym& symbol) {
  const auto binding = ELF64_ST_BIND(symbol.st_info);
  const auto visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  return (binding == STB_GLOBAL || binding == STB_WEAK) && (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

/// A label in hand-written code counts as a possible jump target; the marks of code and data ($x, $d) on aarch64 do
/// not.
bool is_code_place(const Elf64_Sym& symbol, std::string_view strings) {
  if (is_function(symbol)) return true;
  return ELF64_ST_TYPE(symbol.st_info) == STT_NOTYPE && symbol.st_shndx != SHN_UNDEF &&
         symbol.st_shndx < SHN_LORESERVE && symbol.st_name != 0 && !string_at(strings, symbol.st_name).starts_with('$');
}

std::vector<TableString> routine_strings(std::string_view strings) {
  std::vector<TableString> found;
  for (auto next = next_routine_string(strings, 0); next; next = next_routine_string(strings, next->end))
    found.push_back(*next);
  return found;
}

void add_functions(const ElfSymbols& symbols, SymbolTable table, std::vector<FunctionSymbol>& functions) {
  const std::vector<TableString> named = routine_strings(symbols.strings);
  if (named.empty()) return;
  for (std::size_t index = 0; index < symbols.count(); ++index) {
    const Elf64_Sym symbol = symbols[index];
    if (!is_function(symbol)) continue;
    // Names may share their tails.
    const auto behind =
        std::upper_bound(named.begin(), named.end(), symbol.st_name,
                         [](std::size_t name, const TableString& string) { return name < string.begin; });
    if (behind == named.begin() || symbol.st_name >= std::prev(behind)->end) continue;
    const std::string_view name = symbols.strings.substr(symbol.st_name, std::prev(behind)->end - symbol.st_name);
    functions.push_back({.name = name.substr(0, name.find('@')),
                         .address = symbol.st_value,
                         .size = symbol.st_size,
                         .table = table,
                         .exported = table == SymbolTable::dynsym && is_exported(symbol),
                         .indirect = ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC});
  }
}

/// For some addresses, the next place in the code behind each.
class NextPlaces {
 public:
  NextPlaces(const SymbolTables& tables, std::vector<std::uint64_t> addresses) : addresses_(std::move(addresses)) {
    std::sort(addresses_.begin(), addresses_.end());
    next_.assign(addresses_.size(), UINT64_MAX);
    for (const ElfSymbols& symbols : tables)
      for (std::size_t index = 0; index < symbols.count(); ++index)
        if (const Elf64_Sym symbol = symbols[index]; is_code_place(symbol, symbols.strings)) add(symbol.st_value);
  }

  /// `address` is one of those asked for.
  std::uint64_t behind(std::uint64_t address) const {
    auto index =
        static_cast<std::size_t>(std::lower_bound(addresses_.begin(), addresses_.end(), address) - addresses_.begin());
    while (index + 1 < next_.size() && next_[index] == UINT64_MAX) ++index;
    return next_[index];
  }

 private:
  /// Notes it at the last address before it; those further in front find it from there.
  void add(std::uint64_t place) {
    const auto above = std::lower_bound(addresses_.begin(), addresses_.end(), place);
    if (above == addresses_.begin()) return;
    std::uint64_t& next = next_[static_cast<std::size_t>(above - addresses_.begin()) - 1];
    next = std::min(next, place);
  }

  std::vector<std::uint64_t> addresses_;
  std::vector<std::uint64_t> next_;
};

}  // namespace

std::vector<FunctionSymbol> routine_functions(const SymbolTables& tables) {
  std::vector<FunctionSymbol> functions;
  for (std::size_t table = 0; table < tables.size(); ++table)
    add_functions(tables[table], static_cast<SymbolTable>(table), functions);
  return functions;
}

std::vector<FunctionExtent> function_extents(const ElfImage& image, const SymbolTables& tables,
                                             std::span<const FunctionSymbol> functions) {
  std::vector<std::uint64_t> entries;
  for (const FunctionSymbol& function : functions) entries.push_back(function.address);
  const NextPlaces behind_entries(tables, entries);

  std::vector<FunctionExtent> extents;
  std::vector<std::uint64_t> last_bytes;
  for (const FunctionSymbol& function : functions) {
    const std::uint64_t end = image.code_end(function.address);
    const std::uint64_t next = std::min(end, behind_entries.behind(function.address));
    const bool ends_at_next = function.size == 0 || next - function.address < std::min(function.size, entry_size);
    const std::uint64_t size = ends_at_next ? next - function.address : std::min(function.size, end - function.address);
    extents.push_back({end == 0 ? 0 : size, end});
    last_bytes.push_back(end == 0 ? 0 : function.address + size - 1);
  }
  const NextPlaces behind_ends(tables, last_bytes);
  for (std::size_t i = 0; i < functions.size(); ++i)
    if (extents[i].size != 0)
      extents[i].room = std::min(extents[i].room, behind_ends.behind(last_bytes[i])) - functions[i].address;
  return extents;
}

std::vector<std::string_view> routine_imports(const ElfSymbols& symbols) {
  std::vector<std::string_view> imports;
  for (std::size_t index = 0; index < symbols.count(); ++index) {
    const Elf64_Sym symbol = symbols[index];
    if (symbol.st_shndx != SHN_UNDEF) continue;
    const std::string_view name = string_at(symbols.strings, symbol.st_name);
    if (find_routine_name(name, 0) != std::string_view::npos) imports.push_back(name);
  }
  std::sort(imports.begin(), imports.end());
  return imports;
}

}  // namespace blastoff::intercept
