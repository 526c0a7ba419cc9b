// Reading intact and broken ELF files.
#include "intercept/symbols/object_file.h"

#include <dlfcn.h>
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>

#include "intercept/symbols/blas_functions.h"
#include "intercept/symbols/compressed_symbols.h"
#include "intercept/symbols/elf_image.h"
#include "intercept/symbols/function_symbols.h"
#include "intercept/symbols/name_search.h"
#include "intercept/symbols/quick_look.h"
#include "platform/mappings.h"
#include "symbol_fixtures.h"

namespace blastoff::intercept {
namespace {

using namespace std::string_literals;

using test::file_bytes;
using test::symbol_fixture;
using test::TemporaryFile;

ObjectFile opened(const std::string& path) {
  auto object = ObjectFile::open(path.c_str());
  if (!object) throw std::runtime_error(object.error());
  return std::move(*object);
}

const FunctionSymbol* find(const std::vector<FunctionSymbol>& functions, std::string_view name) {
  const auto found = std::find_if(functions.begin(), functions.end(),
                                  [&](const FunctionSymbol& function) { return function.name == name; });
  return found == functions.end() ? nullptr : &*found;
}

TEST(ObjectFile, HasTheNumberByWhichTheKernelListsItsMappings) {
  const std::string path = "/proc/self/exe";
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  const platform::FileNumber expected{major(status.st_dev), minor(status.st_dev), status.st_ino};
  const auto listed = platform::Mappings().covering(reinterpret_cast<std::uintptr_t>(&opened));
  ASSERT_TRUE(listed);
  EXPECT_EQ(opened(path).number(), expected);
  if (listed->file != expected) GTEST_SKIP() << "this file system has another number for each";
  EXPECT_EQ(opened(path).number(), listed->file);
}

TEST(ObjectFile, ErrorsNameTheFile) {
  EXPECT_EQ(ObjectFile::open("/no/such/file").error(), "/no/such/file: No such file or directory");
  EXPECT_EQ(ObjectFile::open("/tmp").error(), "/tmp: not a program or library");
  const TemporaryFile text(std::vector<char>(1000, 'x'));
  EXPECT_EQ(ObjectFile::open(text.path()).error(), std::string(text.path()) + ": not a 64-bit ELF program or library");
}

TEST(ObjectFile, TellsHowAProgramStarts) {
  EXPECT_EQ(opened(symbol_fixture("libsymbols_both_styles.so")).linkage(), Linkage::shared_object);
  EXPECT_EQ(opened(symbol_fixture("symbols_program")).linkage(), Linkage::dynamic_executable);
  EXPECT_EQ(opened(symbol_fixture("symbols_static_program")).linkage(), Linkage::static_executable);
  EXPECT_EQ(opened(symbol_fixture("symbols_static_pie")).linkage(), Linkage::static_executable);
  Dl_info libc;  // a library that can also be executed
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&std::strtod), &libc), 0);
  EXPECT_EQ(opened(libc.dli_fname).linkage(), Linkage::shared_object);
}

TEST(ObjectFile, SaysWhoItIsAndWhatItNeeds) {
  const ObjectFile library = opened(symbol_fixture("libsymbols_both_styles.so"));
  EXPECT_EQ(library.soname(), "libsymbols_both_styles.so");
  EXPECT_EQ(opened("/proc/self/exe").machine(), library.machine());
  const ObjectFile program = opened(symbol_fixture("symbols_program"));
  EXPECT_EQ(program.soname(), "");
  EXPECT_THAT(program.needed(), testing::Contains(testing::StartsWith("libc.so")));
  EXPECT_FALSE(program.stripped());
  EXPECT_TRUE(opened(symbol_fixture("symbols_stripped")).stripped());
}

TEST(ObjectFile, FindsFunctionsInEitherTable) {
  const ObjectFile library = opened(symbol_fixture("libsymbols_both_styles.so"));
  const auto exported = library.blas_candidates();
  ASSERT_NE(find(exported, "cblas_dgemm"), nullptr);
  EXPECT_EQ(find(exported, "cblas_dgemm")->table, SymbolTable::dynsym);
  EXPECT_TRUE(find(exported, "cblas_dgemm")->exported);

  const ObjectFile program = opened(symbol_fixture("symbols_program"));
  const auto local = program.blas_candidates();
  ASSERT_NE(find(local, "dgemm_"), nullptr);
  EXPECT_EQ(find(local, "dgemm_")->table, SymbolTable::symtab);
  EXPECT_FALSE(find(local, "dgemm_")->exported);
  EXPECT_FALSE(opened(symbol_fixture("symbols_stripped")).may_define_blas());
}

TEST(ObjectFile, ReadsCompressedSymbolsOfPrograms) {
  if (!std::filesystem::exists(symbol_fixture("symbols_debugdata"))) GTEST_SKIP() << "the build had no xz";
  const ObjectFile program = opened(symbol_fixture("symbols_debugdata"));
  EXPECT_FALSE(program.stripped());
  EXPECT_TRUE(program.may_define_blas());
  const auto functions = program.blas_candidates();
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions.front().name, "dgemm_");
  EXPECT_EQ(functions.front().table, SymbolTable::debugdata);
  const ObjectFile plain = opened(symbol_fixture("symbols_program"));
  EXPECT_EQ(functions.front().address, find(plain.blas_candidates(), "dgemm_")->address);
  EXPECT_EQ(program.extents(functions).front().size, find(plain.blas_candidates(), "dgemm_")->size);
}

TEST(ObjectFile, HandsOutCodeAsItIsRun) {
  const std::string path = symbol_fixture("libsymbols_both_styles.so");
  const ObjectFile library = opened(path);
  const auto functions = library.blas_candidates();
  const FunctionSymbol& dgemm = *find(functions, "dgemm_");
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  const auto* const map = static_cast<const link_map*>(handle);
  const void* const loaded = dlsym(handle, "dgemm_");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(loaded), map->l_addr + dgemm.address);
  const auto code = library.bytes(dgemm.address, dgemm.size);
  ASSERT_EQ(code.size(), dgemm.size);
  EXPECT_EQ(std::memcmp(code.data(), loaded, code.size()), 0);
  EXPECT_TRUE(library.bytes(dgemm.address, std::uint64_t{1} << 40).empty());
  EXPECT_TRUE(library.bytes(~std::uint64_t{0}, 16).empty());
  dlclose(handle);
}

TEST(ObjectFile, MeasuresFunctionsUpToTheNext) {
  const ObjectFile library = opened(symbol_fixture("libsymbols_both_styles.so"));
  std::vector<FunctionSymbol> functions = library.blas_candidates();
  std::sort(functions.begin(), functions.end(),
            [](const auto& left, const auto& right) { return left.address < right.address; });
  functions.erase(std::unique(functions.begin(), functions.end(),
                              [](const auto& left, const auto& right) { return left.address == right.address; }),
                  functions.end());
  const auto extents = library.extents(functions);
  ASSERT_EQ(extents.size(), functions.size());
  for (std::size_t i = 0; i < functions.size(); ++i) {
    EXPECT_EQ(extents[i].size, functions[i].size) << functions[i].name;
    EXPECT_GE(extents[i].room, extents[i].size) << functions[i].name;
  }
  for (std::size_t i = 0; i + 1 < functions.size(); ++i) {
    EXPECT_EQ(extents[i].room, functions[i + 1].address - functions[i].address) << functions[i].name;
  }
  for (FunctionSymbol& function : functions) function.size = 0;
  const auto unsized = library.extents(functions);
  for (std::size_t i = 0; i < functions.size(); ++i) EXPECT_EQ(unsized[i].size, extents[i].room) << functions[i].name;
  for (FunctionSymbol& function : functions)
    function.size = 1000;  // beyond the next, which lies within the first 32 bytes
  const auto overlong = library.extents(functions);
  for (std::size_t i = 0; i + 1 < functions.size(); ++i)
    EXPECT_EQ(overlong[i].size, functions[i + 1].address - functions[i].address) << functions[i].name;
  constexpr std::uint64_t beyond_the_file = std::uint64_t{1} << 40;
  for (FunctionSymbol& function : functions) function.address = beyond_the_file;
  EXPECT_EQ(library.extents(functions).front().size, 0u);
}

TEST(ObjectFile, NeedsNoSectionHeadersForDynamicSymbols) {
  const std::string path = symbol_fixture("libsymbols_both_styles.so");
  std::vector<char> bytes = file_bytes(path);
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.e_shoff = 0;
  header.e_shnum = 0;
  header.e_shstrndx = 0;
  std::memcpy(bytes.data(), &header, sizeof header);
  const TemporaryFile copy(bytes);
  const ObjectFile with = opened(path);
  const ObjectFile without = opened(copy.path());
  const auto expected = find_blas_functions(with, "libblas.so").functions;
  const auto found = find_blas_functions(without, "libblas.so").functions;
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].address, expected[i].address);
  EXPECT_TRUE(without.stripped());
}

TEST(ObjectFile, FindsFunctionsByNameWithAHashTableAndWithout) {
  const std::string path = symbol_fixture("libsymbols_both_styles.so");
  std::vector<char> bytes = file_bytes(path);
  const Elf64_Sxword tag = DT_GNU_HASH, other = DT_DEBUG;
  const auto place = std::search(bytes.begin(), bytes.end(), reinterpret_cast<const char*>(&tag),
                                 reinterpret_cast<const char*>(&tag) + sizeof tag);
  ASSERT_NE(place, bytes.end());
  std::memcpy(&*place, &other, sizeof other);
  const TemporaryFile copy(bytes);
  const ObjectFile with = opened(path);
  const ObjectFile without = opened(copy.path());
  for (const FunctionSymbol& function : with.blas_candidates()) {
    const std::array names{function.name, std::string_view("dgem"), std::string_view("strtod")};
    const std::vector<std::uint64_t> expected{function.address, 0, 0};
    EXPECT_EQ(with.addresses_of(names), expected);
    EXPECT_EQ(with.dynamic_addresses_of(names), expected);
    EXPECT_EQ(without.addresses_of(names), expected);
  }
  const ObjectFile program = opened(symbol_fixture("symbols_program"));
  const std::array<std::string_view, 1> local{"dgemm_"};
  EXPECT_EQ(program.addresses_of(local).front(), find(program.blas_candidates(), "dgemm_")->address);
  EXPECT_EQ(program.dynamic_addresses_of(local).front(), 0u);
}

TEST(QuickLook, FindsRoutinesWhereverTheyAreNamed) {
  const auto named = [](const std::string& name) { return may_name_routine(symbol_fixture(name).c_str()); };
  EXPECT_TRUE(named("libsymbols_both_styles.so"));
  EXPECT_TRUE(named("symbols_program"));  // in .symtab
  Dl_info libc;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&std::strtod), &libc), 0);
  EXPECT_FALSE(may_name_routine(libc.dli_fname));
  if (std::filesystem::exists(symbol_fixture("symbols_debugdata"))) {
    EXPECT_TRUE(named("symbols_debugdata"));
  }
  EXPECT_TRUE(may_name_routine("/no/such/file"));
  EXPECT_TRUE(may_name_routine(TemporaryFile(std::vector<char>(1000, 'x')).path()));
}

TEST(QuickLook, ReadsALongTableToItsEnd) {
  constexpr std::size_t piece = std::size_t{64} << 10;
  std::string filler;
  while (filler.size() < 3 * piece) filler += std::string("an_ordinary_name") + '\0';
  const auto found = [](const std::string& names, std::uint32_t type = SHT_DYNSYM) {
    const std::vector<test::Section> sections{{type, 2, ""}, {SHT_STRTAB, 0, names}, {SHT_STRTAB, 0, "\0.names\0"s}};
    return may_name_routine(TemporaryFile(test::elf_file(sections)).path());
  };
  EXPECT_FALSE(found(filler));
  EXPECT_TRUE(found(std::string(2 * piece, 'x') + '\0'));  // a name that no piece holds
  for (std::size_t place = piece - 12; place < piece + 3; ++place)
    EXPECT_TRUE(found(filler.substr(0, place) + '\0' + "cblas_dgemm" + '\0' + filler)) << place;
  EXPECT_TRUE(found(filler, SHT_NOTE));  // no .dynsym
}

/// The functions of all tables whose names contain a routine's.
std::vector<FunctionSymbol> routines_of(const SymbolTables& tables) {
  std::array<std::vector<FunctionSymbol>, table_count> of;
  for (std::size_t i = 0; i < table_count; ++i) of[i] = unmangled_functions(tables[i], static_cast<SymbolTable>(i));
  return routine_functions(std::array<std::span<const FunctionSymbol>, table_count>{of[0], of[1], of[2]});
}

/// Calls all functions that read an object; the sanitizers and the borders of the mapping find reads outside it.
void ask_everything(const std::vector<char>& bytes) {
  const TemporaryFile file(bytes);
  if (const auto object = ObjectFile::open(file.path())) {
    object->soname();
    object->needed();
    object->stripped();
    object->linkage();
    EXPECT_TRUE(may_name_routine(file.path()) || !object->may_define_blas());
    object->addresses_of(std::array<std::string_view, 2>{"dgemm_", "no_such_function"});
    for (const BlasFunction& function : find_blas_functions(*object, file.path()).functions)
      object->bytes(function.address, function.room);
  }
  // Once more on the heap, where the sanitizer knows the end of the memory.
  const auto image = ElfImage::of(std::as_bytes(std::span(bytes)));
  if (!image) return;
  const SymbolTables tables = {image->dynamic_symbols(), image->static_symbols(), ElfSymbols{}};
  const std::vector<FunctionSymbol> functions = routines_of(tables);
  function_extents(*image, tables, functions);
  decompress_symbols(image->section(".gnu_debugdata"));
}

std::vector<std::string> whole_files() {
  std::vector<std::string> files;
  for (const char* const name : {"libsymbols_both_styles.so", "symbols_program", "symbols_debugdata"})
    if (std::filesystem::exists(symbol_fixture(name))) files.push_back(symbol_fixture(name));
  return files;
}

TEST(ObjectFile, SurvivesTruncation) {
  for (const std::string& file : whole_files()) {
    const std::vector<char> bytes = file_bytes(file);
    for (std::size_t size = 0; size < bytes.size(); size += size < 1024 ? 7 : 211)
      ask_everything({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
  }
}

TEST(ObjectFile, SurvivesCorruption) {
  std::mt19937 random(7);
  for (const std::string& file : whole_files()) {
    const std::vector<char> bytes = file_bytes(file);
    // The headers are at the front, the section headers at the end, and tables in between.
    const std::size_t regions[][2] = {{0, 1024}, {bytes.size() - 2500, bytes.size()}, {0, bytes.size()}};
    for (int round = 0; round < 600; ++round) {
      std::vector<char> broken = bytes;
      const auto& region = regions[round % 3];
      std::uniform_int_distribution<std::size_t> place(region[0], region[1] - 1);
      const char values[] = {0, 1, 127, '\xff', static_cast<char>(random())};
      for (int i = 0; i < (round % 3 == 2 ? 400 : 4); ++i) broken[place(random)] = values[random() % 5];
      ask_everything(broken);
    }
  }
}

/// A symbol table of functions, in memory.
struct WrittenTable {
  std::string strings;
  std::vector<Elf64_Sym> entries;

  void add(std::size_t name, std::uint64_t address) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(name);
    symbol.st_value = address;
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = 1;
    entries.push_back(symbol);
  }
  ElfSymbols view() const { return {std::as_bytes(std::span(entries)), strings}; }
  std::string name_of(const Elf64_Sym& symbol) const {
    return symbol.st_name < strings.size() ? strings.c_str() + symbol.st_name : "";
  }
};

/// A table of few names and addresses, some of them out of range, so that many symbols share names, addresses or the
/// tail of a string, or point nowhere.
WrittenTable random_table(std::mt19937& random) {
  constexpr const char* words[] = {"dgemm_", "cblas_dtrsm", "main", "_Z5dgemmv", "zherk_64_", "x", "my_csyrk"};
  WrittenTable table;
  const std::size_t count = random() % 12;
  for (std::size_t i = 0; i < count; ++i) table.strings += std::string(1, '\0') + words[random() % std::size(words)];
  table.strings += '\0';
  const std::size_t symbols = random() % 40;
  for (std::size_t i = 0; i < symbols; ++i)
    table.add(random() % (table.strings.size() + 3), random() % 8 == 0 ? UINT64_MAX - random() % 3 : random() % 4);
  return table;
}

TEST(RoutineFunctions, AreThoseOfAllTablesWithEachNameOfAnAddressOnce) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const std::array tables{random_table(random), random_table(random), random_table(random)};
    std::vector<std::pair<std::string, std::uint64_t>> expected;
    for (const WrittenTable& table : tables)
      for (const Elf64_Sym& symbol : table.entries) {
        const std::pair function(table.name_of(symbol), symbol.st_value);
        const bool named =
            !function.first.starts_with("_Z") && find_routine_name(function.first, 0) != std::string::npos;
        if (named && std::ranges::find(expected, function) == expected.end()) expected.push_back(function);
      }
    std::vector<std::pair<std::string, std::uint64_t>> found;
    for (const FunctionSymbol& function : routines_of({tables[0].view(), tables[1].view(), tables[2].view()}))
      found.emplace_back(function.name, function.address);
    ASSERT_EQ(found, expected) << "round " << round;
  }
}

TEST(RoutineNames, AreFoundAtEveryPlaceOfATable) {
  for (const char* const name : {"dgemm", "SSYMM", "chemm", "ztrmm", "dtrsm", "csyrk", "ZHERK", "ssyr2k", "cher2k"})
    for (std::size_t place = 0; place < 70; ++place)
      for (std::size_t behind : {0, 1, 5, 40}) {
        const std::string table = std::string(place, 'e') + name + std::string(behind, 'm');
        ASSERT_EQ(find_routine_name(table, 0), place) << table;
      }
}

TEST(RoutineNames, AreNotFoundWhereThereAreNone) {
  const std::string none = "gemm\0xgemm\0dgbmv\0zsymv\0dhemv\0dsyr2\0dher2\0dhemn\0strsv\0summa"s;
  for (std::size_t shift = 0; shift < 20; ++shift)
    EXPECT_EQ(find_routine_name(std::string(shift, '\0') + none, 0), std::string::npos);
  EXPECT_EQ(find_routine_name("", 0), std::string::npos);
}

TEST(RoutineNames, StringsAreWholeAndNotOfCxx) {
  const std::string table = "\0_ZN4blas5dgemmEv\0cblas_dgemm\0x\0dgemm_\0cut off dgemm"s;
  const auto first = next_routine_string(table, 0);
  ASSERT_TRUE(first);
  EXPECT_EQ(table.substr(first->begin, first->end - first->begin), "cblas_dgemm");
  const auto second = next_routine_string(table, first->end);
  ASSERT_TRUE(second);
  EXPECT_EQ(table.substr(second->begin, second->end - second->begin), "dgemm_");
  EXPECT_FALSE(next_routine_string(table, second->end));
}

}  // namespace
}  // namespace blastoff::intercept
