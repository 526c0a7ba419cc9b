#include "intercept/symbols/function_symbols.h"

#include <algorithm>

#include "intercept/symbols/level3_names.h"

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

/// A label in hand-written code counts as a place where somebody may jump to; the marks of code and data ($x, $d) on
/// aarch64 do not.
bool is_code_place(const Elf64_Sym& symbol, std::string_view strings) {
  if (is_function(symbol)) return true;
  return ELF64_ST_TYPE(symbol.st_info) == STT_NOTYPE && symbol.st_shndx != SHN_UNDEF &&
         symbol.st_shndx < SHN_LORESERVE && symbol.st_name != 0 && !string_at(strings, symbol.st_name).starts_with('$');
}

void add_functions(const ElfSymbols& symbols, SymbolTable table, std::vector<FunctionSymbol>& functions) {
  const std::vector<NamedString> named = level3_names(symbols.strings);
  if (named.empty()) return;
  for (std::size_t index = 0; index < symbols.count(); ++index) {
    const Elf64_Sym symbol = symbols[index];
    if (!is_function(symbol)) continue;
    // Names may share their tails.
    const auto behind =
        std::upper_bound(named.begin(), named.end(), symbol.st_name,
                         [](std::size_t name, const NamedString& string) { return name < string.begin; });
    if (behind == named.begin() || symbol.st_name >= std::prev(behind)->end) continue;
    const std::string_view name = symbols.strings.substr(symbol.st_name, std::prev(behind)->end - symbol.st_name);
    functions.push_back({.name = name.substr(0, name.find('@')),
                         .address = symbol.st_value,
                         .size = symbol.st_size,
                         .room = 0,
                         .table = table,
                         .exported = table == SymbolTable::dynsym && is_exported(symbol),
                         .indirect = ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC});
  }
}

/// Keeps the first of each name at each address.
void drop_repeats(std::vector<FunctionSymbol>& functions) {
  const auto key = [](const FunctionSymbol& function) { return std::pair(function.address, function.name); };
  std::stable_sort(functions.begin(), functions.end(),
                   [&](const FunctionSymbol& left, const FunctionSymbol& right) { return key(left) < key(right); });
  const auto end =
      std::unique(functions.begin(), functions.end(),
                  [&](const FunctionSymbol& left, const FunctionSymbol& right) { return key(left) == key(right); });
  functions.erase(end, functions.end());
}

std::vector<std::uint64_t> code_places(const SymbolTables& tables) {
  std::vector<std::uint64_t> places;
  for (const ElfSymbols& symbols : tables)
    for (std::size_t index = 0; index < symbols.count(); ++index)
      if (const Elf64_Sym symbol = symbols[index]; is_code_place(symbol, symbols.strings))
        places.push_back(symbol.st_value);
  std::sort(places.begin(), places.end());
  return places;
}

/// Sets size and room; false for a function that lies in no code.
bool measure(const ElfImage& image, const std::vector<std::uint64_t>& places, FunctionSymbol& function) {
  const std::uint64_t end = image.code_end(function.address);
  if (end == 0) return false;
  const auto next_place = [&](std::uint64_t address) {
    const auto next = std::upper_bound(places.begin(), places.end(), address);
    return next == places.end() ? end : std::min(end, *next);
  };
  const std::uint64_t to_next = next_place(function.address) - function.address;
  if (function.size == 0 || to_next < entry_size) function.size = std::min(function.size - 1, to_next - 1) + 1;
  function.size = std::min(function.size, end - function.address);
  function.room = next_place(function.address + function.size - 1) - function.address;
  return true;
}

}  // namespace

std::vector<FunctionSymbol> level3_functions(const ElfImage& image, const SymbolTables& tables) {
  std::vector<FunctionSymbol> functions;
  for (std::size_t table = 0; table < tables.size(); ++table)
    add_functions(tables[table], static_cast<SymbolTable>(table), functions);
  if (functions.empty()) return functions;
  drop_repeats(functions);
  const std::vector<std::uint64_t> places = code_places(tables);
  std::erase_if(functions, [&](FunctionSymbol& function) { return !measure(image, places, function); });
  return functions;
}

}  // namespace blastoff::intercept
