// An ELF file of this machine's class and byte order, and the functions that its symbol tables name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "intercept/patch/argument_use.h"

namespace blastoff::intercept {

enum class SymbolTable : std::uint8_t { dynsym, symtab, debugdata };

/// A function symbol.
struct FunctionSymbol {
  std::string_view name;      ///< without a version; lives as long as the ObjectFile
  std::uint64_t address = 0;  ///< as linked: add where the object was loaded
  std::uint64_t size = 0;     ///< bytes, as the symbol says; 0 if it does not
  SymbolTable table{};
  bool exported = false;  ///< defined in .dynsym, global or weak, and not hidden
  bool indirect = false;  ///< STT_GNU_IFUNC: the address is a resolver's
};

/// How far a function reaches.
struct FunctionExtent {
  /// Bytes; where the symbol gives none, up to the next symbol or the end of its section. A symbol within the first 32
  /// bytes ends it, whatever it says: somebody may jump there. 0: it lies in no code.
  std::uint64_t size = 0;
  /// Bytes to the next symbol behind it or the end of its section: size and what follows. In a stripped object that
  /// may hold local functions too: who writes there looks at the bytes first.
  std::uint64_t room = 0;
};

/// How a program starts.
enum class Linkage : std::uint8_t { shared_object, dynamic_executable, static_executable };

class ObjectFile {
 public:
  /// Maps the file. The error is one line that names it.
  static tl::expected<ObjectFile, std::string> open(const char* path);
  ObjectFile(ObjectFile&& other) noexcept;
  ObjectFile& operator=(ObjectFile&& other) noexcept;
  ~ObjectFile();

  std::uint16_t machine() const;  ///< EM_X86_64, EM_AARCH64, ...
  Linkage linkage() const;
  std::string_view soname() const;               ///< "" if it has none
  std::vector<std::string_view> needed() const;  ///< DT_NEEDED
  bool stripped() const;                         ///< neither .symtab nor .gnu_debugdata

  /// Whether any symbol table may name a routine of any front end, read off the string tables at some GB/s. Compressed
  /// symbols
  /// (.gnu_debugdata) are looked into only where that may pay: in programs, and in objects that mention BLAS or LAPACK.
  bool may_define_blas() const;

  /// Functions that the object defines and whose names contain a routine's (in lower or upper case), of all
  /// tables, one table after the other; each name of an address once.
  std::vector<FunctionSymbol> blas_candidates() const;

  /// Names of routines that others are to define, in whatever spelling.
  std::vector<std::string_view> blas_imports() const;

  /// One for each function.
  std::vector<FunctionExtent> extents(std::span<const FunctionSymbol> functions) const;

  /// All names, of defined symbols or not, that contain a text. They live as long as the ObjectFile.
  std::vector<std::string_view> names_with(std::string_view text) const;

  /// Functions that the object defines and whose names contain a text; not those of compressed symbols.
  std::vector<FunctionSymbol> functions_with(std::string_view text) const;

  /// The addresses of functions that the object defines under these names; 0: it defines none, or one that is chosen
  /// when it is loaded.
  std::vector<std::uint64_t> addresses_of(std::span<const std::string_view> names) const;

  /// Whether a symbol, defined or not, has this name.
  bool names_exactly(std::string_view name) const;

  /// The code segment that holds an address; empty: none does.
  patch::CodeRange code_around(std::uint64_t address) const;

  /// The file's bytes for [address, address + size) of text or constant data as linked; empty where it has none.
  std::span<const std::byte> bytes(std::uint64_t address, std::uint64_t size) const;

 private:
  struct State;
  explicit ObjectFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace blastoff::intercept
