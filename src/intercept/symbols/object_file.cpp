#include "intercept/symbols/object_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "intercept/symbols/compressed_symbols.h"
#include "intercept/symbols/elf_image.h"
#include "intercept/symbols/function_symbols.h"
#include "intercept/symbols/name_search.h"
#include "platform/descriptor.h"

namespace blastoff::intercept {
namespace {

/// A file that is mapped into memory.
class MappedFile {
 public:
  MappedFile(void* begin, std::size_t size, platform::FileNumber number)
      : bytes_(static_cast<const std::byte*>(begin), size), number_(number) {}
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})), number_(other.number_) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile() {
    if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  std::span<const std::byte> bytes() const { return bytes_; }
  platform::FileNumber number() const { return number_; }

 private:
  std::span<const std::byte> bytes_;
  platform::FileNumber number_;
};

tl::expected<MappedFile, std::string> map_file(const char* path) {
  const auto failed = [&] { return tl::unexpected(std::string(path) + ": " + std::strerror(errno)); };
  const platform::Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) return failed();
  if (!S_ISREG(status.st_mode) || status.st_size <= 0)
    return tl::unexpected(std::string(path) + ": not a program or library");
  const auto size = static_cast<std::size_t>(status.st_size);
  // The kernel puts the breakpoints of its probes (uprobes) into private mappings, but not into shared ones. Some file
  // systems have private ones only.
  void* begin = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (begin == MAP_FAILED) begin = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (begin == MAP_FAILED) return failed();
  return MappedFile(begin, size, {major(status.st_dev), minor(status.st_dev), status.st_ino});
}

void add_strings_with(std::string_view strings, std::string_view text, std::vector<std::string_view>& found) {
  for (std::size_t place = find_text(strings, text, 0); place != std::string_view::npos;) {
    const std::size_t end = strings.find('\0', place);
    if (end == std::string_view::npos) break;
    const std::size_t begin = strings.rfind('\0', place) + 1;  // npos + 1 is 0
    found.push_back(strings.substr(begin, end - begin));
    place = find_text(strings, text, end);
  }
}

}  // namespace

struct ObjectFile::State {
  MappedFile file;
  ElfImage image;
  std::span<const std::byte> compressed;
  std::optional<std::vector<std::byte>> decompressed;                             ///< empty until it is asked for
  std::array<std::optional<std::vector<FunctionSymbol>>, table_count> unmangled;  ///< empty until they are asked for

  bool mentions_in_plain_tables(std::string_view text) const {
    return find_text(image.dynamic_symbols().strings, text, 0) != std::string_view::npos ||
           find_text(image.static_symbols().strings, text, 0) != std::string_view::npos;
  }

  /// Decompresses the symbols of .gnu_debugdata if they are asked for.
  ElfSymbols symbols_of(SymbolTable table) {
    if (table == SymbolTable::debugdata) return decompressed_symbols();
    return table == SymbolTable::dynsym ? image.dynamic_symbols() : image.static_symbols();
  }
  SymbolTables tables() {
    return {symbols_of(SymbolTable::dynsym), symbols_of(SymbolTable::symtab), symbols_of(SymbolTable::debugdata)};
  }

  std::span<const FunctionSymbol> unmangled_functions_of(SymbolTable table) {
    auto& functions = unmangled[static_cast<std::size_t>(table)];
    if (!functions) functions = unmangled_functions(symbols_of(table), table);
    return *functions;
  }
  std::array<std::span<const FunctionSymbol>, table_count> all_unmangled_functions() {
    return {unmangled_functions_of(SymbolTable::dynsym), unmangled_functions_of(SymbolTable::symtab),
            unmangled_functions_of(SymbolTable::debugdata)};
  }

  ElfSymbols decompressed_symbols() {
    if (compressed.empty()) return {};
    if (!decompressed) decompressed = decompress_symbols(compressed);
    const std::optional<ElfImage> inner = ElfImage::of(*decompressed);
    return inner ? inner->static_symbols() : ElfSymbols{};
  }
};

ObjectFile::ObjectFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
ObjectFile::ObjectFile(ObjectFile&& other) noexcept = default;
ObjectFile& ObjectFile::operator=(ObjectFile&& other) noexcept = default;
ObjectFile::~ObjectFile() = default;

tl::expected<ObjectFile, std::string> ObjectFile::open(const char* path) {
  tl::expected<MappedFile, std::string> file = map_file(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  std::optional<ElfImage> image = ElfImage::of(file->bytes());
  if (!image || (image->header().e_type != ET_EXEC && image->header().e_type != ET_DYN))
    return tl::unexpected(std::string(path) + ": not a 64-bit ELF program or library");
  const std::span<const std::byte> compressed = image->section(".gnu_debugdata");
  return ObjectFile(std::make_unique<State>(State{std::move(*file), std::move(*image), compressed, std::nullopt, {}}));
}

platform::FileNumber ObjectFile::number() const {
  return state_->file.number();
}

std::uint16_t ObjectFile::machine() const {
  return state_->image.header().e_machine;
}

Linkage ObjectFile::linkage() const {
  const ElfImage& image = state_->image;
  const bool interpreted = std::any_of(image.segments().begin(), image.segments().end(),
                                       [](const Elf64_Phdr& segment) { return segment.p_type == PT_INTERP; });
  // Libraries that can be run (the C library) have an interpreter too. Programs from before DF_1_PIE have no soname.
  const bool executable = image.header().e_type == ET_EXEC || (image.dynamic(DT_FLAGS_1).value_or(0) & DF_1_PIE) != 0 ||
                          (interpreted && !image.dynamic(DT_SONAME));
  if (!executable) return Linkage::shared_object;
  return interpreted ? Linkage::dynamic_executable : Linkage::static_executable;
}

std::string_view ObjectFile::soname() const {
  const std::vector<std::string_view> names = state_->image.dynamic_strings(DT_SONAME);
  return names.empty() ? std::string_view{} : names.front();
}

std::vector<std::string_view> ObjectFile::needed() const {
  return state_->image.dynamic_strings(DT_NEEDED);
}

bool ObjectFile::stripped() const {
  return state_->image.static_symbols().count() == 0 && state_->compressed.empty();
}

std::vector<std::string_view> ObjectFile::names_with(std::string_view text) const {
  std::vector<std::string_view> names;
  for (const ElfSymbols& symbols : state_->tables()) add_strings_with(symbols.strings, text, names);
  return names;
}

std::vector<std::string_view> ObjectFile::first_names_with(std::string_view text) const {
  std::vector<std::string_view> names;
  add_strings_with(state_->image.dynamic_symbols().strings, text, names);
  if (!names.empty()) return names;
  for (const auto& table : state_->all_unmangled_functions())
    for (const FunctionSymbol& function : table)
      if (function.name.find(text) != std::string_view::npos) names.push_back(function.name);
  return names;
}

std::vector<FunctionSymbol> ObjectFile::functions_with(std::string_view text) const {
  if (!state_->mentions_in_plain_tables(text)) return {};
  return named_functions({state_->image.dynamic_symbols(), state_->image.static_symbols(), {}}, text);
}

bool ObjectFile::may_define_blas() const {
  const auto names_routine = [](std::string_view strings) { return next_routine_string(strings, 0).has_value(); };
  if (names_routine(state_->image.dynamic_symbols().strings) || names_routine(state_->image.static_symbols().strings))
    return true;
  if (state_->compressed.empty()) return false;
  const bool may_pay = linkage() != Linkage::shared_object || state_->mentions_in_plain_tables("blas") ||
                       state_->mentions_in_plain_tables("lapack");
  return may_pay && names_routine(state_->decompressed_symbols().strings);
}

std::vector<FunctionSymbol> ObjectFile::blas_candidates() const {
  return may_define_blas() ? routine_functions(state_->all_unmangled_functions()) : std::vector<FunctionSymbol>{};
}

bool ObjectFile::exports(std::size_t count) const {
  return defined_functions(state_->image.dynamic_symbols(), count) == count;
}

std::vector<FunctionSymbol> ObjectFile::dynamic_blas_candidates() const {
  return routine_functions(std::array{state_->unmangled_functions_of(SymbolTable::dynsym)});
}

std::vector<FunctionExtent> ObjectFile::extents(std::span<const FunctionSymbol> functions) const {
  return function_extents(state_->image, state_->tables(), functions);
}

std::vector<std::string_view> ObjectFile::blas_imports() const {
  return routine_imports(state_->image.dynamic_symbols());
}

std::vector<std::uint64_t> ObjectFile::addresses_of(std::span<const std::string_view> names) const {
  return function_addresses(state_->image, state_->all_unmangled_functions(), names);
}

std::vector<std::uint64_t> ObjectFile::dynamic_addresses_of(std::span<const std::string_view> names) const {
  return function_addresses(state_->image, std::array{state_->unmangled_functions_of(SymbolTable::dynsym)}, names);
}

bool ObjectFile::names_exactly(std::string_view name) const {
  std::vector<std::string_view> names;
  add_strings_with(state_->image.dynamic_symbols().strings, name, names);
  if (std::ranges::find(names, name) != names.end()) return true;
  return std::ranges::any_of(state_->all_unmangled_functions(), [&](std::span<const FunctionSymbol> table) {
    return std::ranges::find(table, name, &FunctionSymbol::name) != table.end();
  });
}

patch::CodeRange ObjectFile::code_around(std::uint64_t address) const {
  for (const Elf64_Phdr& segment : state_->image.segments())
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && address - segment.p_vaddr < segment.p_filesz)
      return {state_->image.constant_bytes(segment.p_vaddr, segment.p_filesz), segment.p_vaddr};
  return {};
}

std::span<const std::byte> ObjectFile::bytes(std::uint64_t address, std::uint64_t size) const {
  return state_->image.constant_bytes(address, size);
}

}  // namespace blastoff::intercept
