// Extracts functions and their sizes from symbol tables.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "intercept/symbols/elf_image.h"
#include "intercept/symbols/object_file.h"

namespace blastoff::intercept {

/// The symbol tables of one object, indexed by SymbolTable.
using SymbolTables = std::array<ElfSymbols, table_count>;

/// Returns the functions that a table defines, without those whose names are C++'s (_Z...).
std::vector<FunctionSymbol> unmangled_functions(const ElfSymbols& symbols, SymbolTable table);

/// The unmangled functions of some tables of one object.
using UnmangledFunctions = std::span<const std::span<const FunctionSymbol>>;

/// See ObjectFile::blas_candidates(). If an address has the same name several times, it occurs once.
std::vector<FunctionSymbol> routine_functions(UnmangledFunctions tables);

/// See ObjectFile::functions_with().
std::vector<FunctionSymbol> named_functions(const SymbolTables& tables, std::string_view text);

/// See ObjectFile::extents().
std::vector<FunctionExtent> function_extents(const ElfImage& image, const SymbolTables& tables,
                                             std::span<const FunctionSymbol> functions);

/// See ObjectFile::addresses_of().
std::vector<std::uint64_t> function_addresses(const ElfImage& image, UnmangledFunctions tables,
                                              std::span<const std::string_view> names);

/// Counts the functions that a table defines, but no more than `limit`.
std::size_t defined_functions(const ElfSymbols& symbols, std::size_t limit);

/// See ObjectFile::blas_imports(). Sorted.
std::vector<std::string_view> routine_imports(const ElfSymbols& symbols);

}  // namespace blastoff::intercept
