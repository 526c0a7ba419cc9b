#include "intercept/symbols/function_symbols.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "intercept/symbols/name_search.h"

namespace blastoff::intercept {
namespace {

/// The longest patch: a landing pad and the longest jump.
constexpr std::uint64_t entry_size = 32;

bool is_function(const Elf64_Sym& symbol) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS;
}

/// Whether the symbol's address is the function's, and not that of a resolver.
bool is_plain_function(const Elf64_Sym& symbol) {
  return is_function(symbol) && ELF64_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC;
}

bool is_exported(const Elf64_Sym& symbol) {
  const auto binding = ELF64_ST_BIND(symbol.st_info);
  const auto visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  return (binding == STB_GLOBAL || binding == STB_WEAK) && (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

/// Whether a symbol is a place in code where a jump may lead. Labels in hand-written code count; the marks of code and
/// data ($x, $d) on aarch64 do not.
bool is_code_place(const Elf64_Sym& symbol, std::string_view strings) {
  if (is_function(symbol)) return true;
  return ELF64_ST_TYPE(symbol.st_info) == STT_NOTYPE && symbol.st_shndx != SHN_UNDEF &&
         symbol.st_shndx < SHN_LORESERVE && symbol.st_name != 0 && !string_at(strings, symbol.st_name).starts_with('$');
}

/// Ascending numbers. Finding a number takes about the same time however many there are: a table tells where each piece
/// of their range begins.
class SortedNumbers {
 public:
  explicit SortedNumbers(std::vector<std::uint64_t> numbers) : numbers_(std::move(numbers)) {
    if (numbers_.empty()) return;
    const std::uint64_t range = numbers_.back() - numbers_.front();
    while (range >> shift_ > numbers_.size() * pieces_for_each) ++shift_;
    begins_.resize((range >> shift_) + 2);
    std::size_t index = 0;
    for (std::size_t piece = 0; piece < begins_.size(); ++piece) {
      while (index < numbers_.size() && piece_of(numbers_[index]) < piece) ++index;
      begins_[piece] = static_cast<std::uint32_t>(index);
    }
  }

  std::size_t count() const { return numbers_.size(); }
  std::uint64_t operator[](std::size_t index) const { return numbers_[index]; }

  /// Returns the index of the first number that is at least `number`; count(): there is none.
  std::size_t at_least(std::uint64_t number) const {
    if (numbers_.empty() || number <= numbers_.front()) return 0;
    const std::uint64_t piece = piece_of(number);
    if (piece + 1 >= begins_.size()) return numbers_.size();
    const auto place = [&](std::uint64_t at) { return numbers_.begin() + static_cast<std::ptrdiff_t>(begins_[at]); };
    return static_cast<std::size_t>(std::lower_bound(place(piece), place(piece + 1), number) - numbers_.begin());
  }

 private:
  static constexpr std::size_t pieces_for_each = 2;

  std::uint64_t piece_of(std::uint64_t number) const { return (number - numbers_.front()) >> shift_; }

  std::vector<std::uint64_t> numbers_;
  unsigned shift_ = 0;
  std::vector<std::uint32_t> begins_;  ///< for each piece, the index of the first number in it or behind it
};

/// Collects functions. A name occurs once at an address.
class DistinctFunctions {
 public:
  void add(const FunctionSymbol& function) {
    if (2 * functions_.size() >= slots_.size()) make_room();
    std::uint32_t& slot = slot_of(function);
    if (slot != none) return;
    slot = static_cast<std::uint32_t>(functions_.size());
    functions_.push_back(function);
  }

  std::vector<FunctionSymbol> take() { return std::move(functions_); }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  void make_room() {
    slots_.assign(std::bit_ceil(4 * std::max(functions_.capacity(), std::size_t{16})), none);
    for (std::uint32_t index = 0; index < functions_.size(); ++index) slot_of(functions_[index]) = index;
  }

  /// Returns the slot of the function, or a free one. At most half of all slots are taken.
  std::uint32_t& slot_of(const FunctionSymbol& function) {
    const std::uint64_t hash = (function.address + function.name.size()) * 0x9e3779b97f4a7c15U;
    for (std::size_t at = hash >> 32;; ++at) {
      std::uint32_t& slot = slots_[at % slots_.size()];
      if (slot == none) return slot;
      const FunctionSymbol& other = functions_[slot];
      if (other.address == function.address && other.name == function.name) return slot;
    }
  }

  std::vector<FunctionSymbol> functions_;
  std::vector<std::uint32_t> slots_;
};

FunctionSymbol function_of(const Elf64_Sym& symbol, std::string_view name, SymbolTable table) {
  return {.name = name.substr(0, name.find('@')),
          .address = symbol.st_value,
          .size = symbol.st_size,
          .table = table,
          .exported = table == SymbolTable::dynsym && is_exported(symbol),
          .indirect = ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC};
}

/// For each of some addresses, the next place in code behind it.
class NextPlaces {
 public:
  NextPlaces(const SymbolTables& tables, std::vector<std::uint64_t> addresses)
      : addresses_(sorted(std::move(addresses))), next_(addresses_.count(), UINT64_MAX) {
    for (const ElfSymbols& symbols : tables)
      for (std::size_t index = 0; index < symbols.count(); ++index)
        if (const Elf64_Sym symbol = symbols[index]; is_code_place(symbol, symbols.strings)) add(symbol.st_value);
  }

  /// `address` must be one of the addresses passed to the constructor.
  std::uint64_t behind(std::uint64_t address) const {
    std::size_t index = addresses_.at_least(address);
    while (index + 1 < next_.size() && next_[index] == UINT64_MAX) ++index;
    return next_[index];
  }

 private:
  static std::vector<std::uint64_t> sorted(std::vector<std::uint64_t> addresses) {
    std::sort(addresses.begin(), addresses.end());
    return addresses;
  }

  /// Notes a place at the last address before it. Addresses further in front find it from there.
  void add(std::uint64_t place) {
    const std::size_t above = addresses_.at_least(place);
    if (above > 0) next_[above - 1] = std::min(next_[above - 1], place);
  }

  const SortedNumbers addresses_;
  std::vector<std::uint64_t> next_;
};

}  // namespace

std::vector<FunctionSymbol> unmangled_functions(const ElfSymbols& symbols, SymbolTable table) {
  std::vector<FunctionSymbol> functions;
  functions.reserve(symbols.count());
  for (std::size_t index = 0; index < symbols.count(); ++index) {
    const Elf64_Sym symbol = symbols[index];
    if (!is_function(symbol) || symbol.st_name >= symbols.strings.size()) continue;
    if (symbols.strings.substr(symbol.st_name).starts_with("_Z")) continue;  // these names are long
    functions.push_back(function_of(symbol, string_at(symbols.strings, symbol.st_name), table));
  }
  return functions;
}

std::vector<FunctionSymbol> routine_functions(UnmangledFunctions tables) {
  DistinctFunctions functions;
  for (const auto& table : tables)
    for (const FunctionSymbol& function : table)
      if (find_routine_name(function.name, 0) != std::string_view::npos) functions.add(function);
  return functions.take();
}

std::vector<FunctionSymbol> named_functions(const SymbolTables& tables, std::string_view text) {
  std::vector<FunctionSymbol> functions;
  for (std::size_t table = 0; table < tables.size(); ++table)
    for (std::size_t index = 0; index < tables[table].count(); ++index) {
      const Elf64_Sym symbol = tables[table][index];
      if (!is_function(symbol)) continue;
      const std::string_view name = string_at(tables[table].strings, symbol.st_name);
      if (name.find(text) != std::string_view::npos)
        functions.push_back(function_of(symbol, name, static_cast<SymbolTable>(table)));
    }
  return functions;
}

std::vector<FunctionExtent> function_extents(const ElfImage& image, const SymbolTables& tables,
                                             std::span<const FunctionSymbol> functions) {
  // One pass over all symbols finds both: what comes behind each entry, and behind the last byte of each symbol.
  const auto last_byte = [](const FunctionSymbol& function) {
    return function.address + std::max(function.size, std::uint64_t{1}) - 1;
  };
  std::vector<std::uint64_t> addresses;
  addresses.reserve(2 * functions.size());
  for (const FunctionSymbol& function : functions) {
    addresses.push_back(function.address);
    addresses.push_back(last_byte(function));
  }
  const NextPlaces next_places(tables, std::move(addresses));

  std::vector<FunctionExtent> extents;
  for (const FunctionSymbol& function : functions) {
    const std::uint64_t end = image.code_end(function.address);
    if (end == 0) {
      extents.push_back({});
      continue;
    }
    const std::uint64_t next = std::min(end, next_places.behind(function.address));
    const bool ends_at_next = function.size == 0 || next - function.address < std::min(function.size, entry_size);
    const std::uint64_t size = ends_at_next ? next - function.address : std::min(function.size, end - function.address);
    const std::uint64_t behind = ends_at_next ? next : std::min(end, next_places.behind(last_byte(function)));
    extents.push_back({size, behind - function.address});
  }
  return extents;
}

std::vector<std::uint64_t> function_addresses(const ElfImage& image, UnmangledFunctions tables,
                                              std::span<const std::string_view> names) {
  std::vector<std::uint64_t> addresses(names.size(), 0);
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::optional<Elf64_Sym> exported = image.find_defined(names[i]);
    if (exported && is_plain_function(*exported))
      addresses[i] = exported->st_value;
    else
      missing.push_back(i);
  }
  if (missing.empty()) return addresses;
  for (const auto& table : tables)
    for (const FunctionSymbol& function : table)
      for (const std::size_t i : missing)
        if (!function.indirect && function.name == names[i]) addresses[i] = function.address;
  return addresses;
}

std::size_t defined_functions(const ElfSymbols& symbols, std::size_t limit) {
  std::size_t count = 0;
  for (std::size_t index = 0; index < symbols.count() && count < limit; ++index)
    count += is_function(symbols[index]) ? 1 : 0;
  return count;
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
