// Reads an ELF file of this machine's class and byte order, and the functions in its symbol tables.
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
#include "platform/mappings.h"

namespace blastoff::intercept {

enum class SymbolTable : std::uint8_t { dynsym, symtab, debugdata };
inline constexpr std::size_t table_count = 3;

/// A function symbol.
struct FunctionSymbol {
  std::string_view name;      ///< without a version; valid as long as the ObjectFile lives
  std::uint64_t address = 0;  ///< as linked: add the address at which the object was loaded
  std::uint64_t size = 0;     ///< bytes, from the symbol; 0 if the symbol does not say
  SymbolTable table{};
  bool exported = false;  ///< defined in .dynsym, global or weak, and not hidden
  bool indirect = false;  ///< STT_GNU_IFUNC: the address is that of a resolver
};

/// How many bytes a function occupies.
struct FunctionExtent {
  /// Bytes of the function. If the symbol gives no size, the function extends to the next symbol or the end of its
  /// section. A symbol within the first 32 bytes always ends it, because somebody may jump there. 0: the function lies
  /// in no code.
  std::uint64_t size = 0;
  /// Bytes to the next symbol or the end of the section: `size` and the bytes behind it. In a stripped object these may
  /// include local functions, so code that writes there must look at the bytes first.
  std::uint64_t room = 0;
};

/// How a program is linked.
enum class Linkage : std::uint8_t { shared_object, dynamic_executable, static_executable };

class ObjectFile {
 public:
  /// Maps the file. The error is one line that names the file.
  static tl::expected<ObjectFile, std::string> open(const char* path);
  ObjectFile(ObjectFile&& other) noexcept;
  ObjectFile& operator=(ObjectFile&& other) noexcept;
  ~ObjectFile();

  platform::FileNumber number() const;  ///< as the kernel lists mappings of this file
  std::uint16_t machine() const;        ///< EM_X86_64, EM_AARCH64, ...
  Linkage linkage() const;
  std::string_view soname() const;               ///< "" if it has none
  std::vector<std::string_view> needed() const;  ///< DT_NEEDED
  bool stripped() const;                         ///< it has neither .symtab nor .gnu_debugdata

  /// Whether any symbol table may name a routine of any front end. Reads the string tables at some GB/s. Looks into
  /// compressed symbols (.gnu_debugdata) only in programs, and in objects that mention BLAS or LAPACK.
  bool may_define_blas() const;

  /// Returns the functions that the object defines and whose names contain a routine's name (in small letters or
  /// capitals), from all tables, one table after the other, without C++ names. If an address has the same name several
  /// times, it occurs once.
  std::vector<FunctionSymbol> blas_candidates() const;
  /// Whether .dynsym lists at least so many functions of the object.
  bool exports(std::size_t count) const;
  /// Returns those of blas_candidates() that .dynsym lists.
  std::vector<FunctionSymbol> dynamic_blas_candidates() const;

  /// Returns the names of routines, in any spelling, that the object expects from other objects.
  std::vector<std::string_view> blas_imports() const;

  /// Returns one extent for each function.
  std::vector<FunctionExtent> extents(std::span<const FunctionSymbol> functions) const;

  /// Returns all symbol names that contain a text, whether the symbols are defined or not. They are valid as long as
  /// the ObjectFile lives.
  std::vector<std::string_view> names_with(std::string_view text) const;
  /// Returns the names in .dynsym that contain a text. If there is none, returns those of functions in other tables.
  std::vector<std::string_view> first_names_with(std::string_view text) const;

  /// Returns the functions that the object defines and whose names contain a text, without those of compressed symbols.
  std::vector<FunctionSymbol> functions_with(std::string_view text) const;

  /// Returns the addresses of the functions that the object defines under these names, which are no C++ names. 0: the
  /// object defines none, or the function is chosen when the object is loaded.
  std::vector<std::uint64_t> addresses_of(std::span<const std::string_view> names) const;
  /// The same for functions in .dynsym. Much faster where the object has a hash table with these names.
  std::vector<std::uint64_t> dynamic_addresses_of(std::span<const std::string_view> names) const;

  /// Whether .dynsym has a symbol with this name, defined or not, or another table a function.
  bool names_exactly(std::string_view name) const;

  /// Returns the code segment that holds an address; empty: no segment does.
  patch::CodeRange code_around(std::uint64_t address) const;

  /// Returns the file's bytes for [address, address + size) of text or constant data as linked; empty if the file has
  /// none.
  std::span<const std::byte> bytes(std::uint64_t address, std::uint64_t size) const;

 private:
  struct State;
  explicit ObjectFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace blastoff::intercept
