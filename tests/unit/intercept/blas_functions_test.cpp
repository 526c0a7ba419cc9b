// Finding the functions of a file that are BLAS routines.
#include "intercept/symbols/blas_functions.h"

#include <dlfcn.h>
#include <elf.h>
#include <glob.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <map>
#include <set>

#include "intercept/blas/entry_points.h"
#include "intercept/fft/entry_points.h"
#include "intercept/lapack/entry_points.h"
#include "intercept/patch/architecture.h"
#include "intercept/symbols/blas_name.h"
#include "intercept/symbols/spelled_functions.h"
#include "symbol_fixtures.h"

namespace blastoff::intercept {
namespace {

using abi::IntegerWidth;
using abi::Style;
using test::symbol_fixture;

constexpr std::size_t table_size = blas::routine_count;

BlasFunctions found_in(const std::string& path) {
  const auto object = ObjectFile::open(path.c_str());
  EXPECT_TRUE(object) << object.error();
  return object ? find_blas_functions(*object, path.c_str()) : BlasFunctions{};
}

/// The number of routines that are found in one spelling.
std::size_t count(const BlasFunctions& found, std::string_view prefix, std::string_view suffix) {
  std::set<std::uint16_t> routines;
  for (const BlasFunction& function : found.functions)
    if (function.prefix == prefix && function.suffix == suffix) routines.insert(function.routine.number);
  return routines.size();
}

TEST(BlasName, IsTakenApart) {
  const auto plain = parse_blas_name("dgemm_");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->prefix, "");
  EXPECT_EQ(plain->routine, blas_routine(blas::Routine::dgemm));
  EXPECT_EQ(plain->suffix, "_");
  const auto scipy = parse_blas_name("scipy_cblas_cher2k64_");
  ASSERT_TRUE(scipy);
  EXPECT_EQ(scipy->prefix, "scipy_cblas_");
  EXPECT_EQ(scipy->routine, blas_routine(blas::Routine::cher2k));
  EXPECT_EQ(scipy->suffix, "64_");
  EXPECT_EQ(parse_blas_name("dgemmtr_")->routine, blas_routine(blas::Routine::dgemmtr));
  EXPECT_EQ(parse_blas_name("zgemm3m_")->routine, blas_routine(blas::Routine::zgemm3m));
  EXPECT_TRUE(parse_blas_name("ZGEMM3M_64")->capitals);
  EXPECT_EQ(parse_blas_name("dgemm3m_")->routine, blas_routine(blas::Routine::dgemm))
      << "complex only: 3m is a suffix here";
  for (const char* const name : {"", "gemm", "Dgemm_", "dGEMM", "dhemm_", "dgemm_.constprop.0", "dgemm_.part.0"})
    EXPECT_FALSE(parse_blas_name(name)) << name;
}

TEST(BlasName, OfFftwIsTheLongestThatStandsThere) {
  const auto expect = [](const char* name, fft::Routine routine, std::string_view suffix) {
    const auto parsed = parse_blas_name(name);
    ASSERT_TRUE(parsed) << name;
    EXPECT_EQ(parsed->routine, (Routine{&fft_routines, static_cast<std::uint16_t>(routine)})) << name;
    EXPECT_EQ(parsed->prefix, "") << name;
    EXPECT_EQ(parsed->suffix, suffix) << name;
    EXPECT_EQ(known_spelling(*parsed).has_value(), suffix.empty()) << name;
  };
  expect("fftw_execute", fft::Routine::fftw_execute, "");
  expect("fftw_execute_dft_r2c", fft::Routine::fftw_execute_dft_r2c, "");
  expect("fftwf_plan_guru64_dft", fft::Routine::fftwf_plan_guru64_dft, "");
  expect("dfftw_plan_dft_3d_", fft::Routine::dfftw_plan_dft_3d_, "");
  expect("sfftw_execute_", fft::Routine::sfftw_execute_, "");
  // Not a routine of our tables.
  expect("fftw_execute_r2r", fft::Routine::fftw_execute, "_r2r");
  expect("dfftw_execute__", fft::Routine::dfftw_execute_, "_");
  for (const char* const name : {"fftw_mpi_execute_dft", "fftwl_execute", "fftw_plan_r2r_1d", "fftw_alignment_of"})
    EXPECT_FALSE(parse_blas_name(name)) << name;
}

TEST(BlasFunctions, OfALibraryOfBothStyles) {
  const BlasFunctions found = found_in(symbol_fixture("libsymbols_both_styles.so"));
  EXPECT_EQ(found.functions.size(), 2 * table_size);
  EXPECT_EQ(count(found, "", "_"), table_size);
  EXPECT_EQ(count(found, "cblas_", ""), table_size);
  EXPECT_TRUE(found.left_alone.empty());
  for (const BlasFunction& function : found.functions) {
    EXPECT_EQ(function.convention.style, function.prefix.empty() ? Style::fortran : Style::cblas);
    EXPECT_EQ(function.convention.integers, IntegerWidth::lp64);
    EXPECT_TRUE(function.exported);
    EXPECT_GT(function.size, 0u);
    EXPECT_GE(function.room, function.size);
  }
}

TEST(BlasFunctions, AreAskedForTheirIntegersWhateverTheLibrarysName) {
  const std::string path = symbol_fixture("libsymbols_both_styles.so");
  const auto object = ObjectFile::open(path.c_str());
  ASSERT_TRUE(object);
  for (const char* const name : {"/opt/libblas64.so.3", "/opt/libblas.so.3"}) {
    const BlasFunctions found = find_blas_functions(*object, name);
    for (const Witness& witness : found.witnesses) EXPECT_EQ(witness.kind, Witness::Kind::largest);
    for (const BlasFunction& function : found.functions) EXPECT_FALSE(function.certain) << function.names.front();
  }
}

TEST(BlasFunctions, UndecoratedWithoutAKnownLibraryNeedTheRightArguments) {
  const BlasFunctions found = found_in(symbol_fixture("libsymbols_unmarked.so"));
  EXPECT_TRUE(found.functions.empty());
  EXPECT_EQ(found.left_alone.size(), table_size);
}

TEST(BlasFunctions, WithSeveralNamesAreOne) {
  const BlasFunctions found = found_in(symbol_fixture("libsymbols_aliases.so"));
  ASSERT_EQ(found.functions.size(), table_size);
  EXPECT_TRUE(found.left_alone.empty());
  for (const BlasFunction& function : found.functions) {
    const std::string name = std::string(function.routine.name());
    EXPECT_THAT(function.names, testing::UnorderedElementsAre(name, name + "_", name + "_64_"));
    EXPECT_EQ(function.names.front(), name + "_");
    EXPECT_EQ(function.suffix, "_");
    EXPECT_EQ(function.convention.integers, IntegerWidth::ilp64) << "its suffixed name tells";
  }
}

TEST(BlasFunctions, UndecoratedInALibraryOfAllOfThem) {
  const BlasFunctions found = found_in(symbol_fixture("libsymbols_undecorated.so"));
  EXPECT_EQ(count(found, "", ""), table_size);
  EXPECT_TRUE(found.left_alone.empty());
}

TEST(BlasFunctions, OfARenamedLibrary) {
  const BlasFunctions found = found_in(symbol_fixture("libsymbols_renamed.so"));
  EXPECT_EQ(found.functions.size(), 2 * table_size);
  EXPECT_EQ(count(found, "my_", "_v64"), table_size);
  EXPECT_EQ(count(found, "my_cblas_", "v64"), table_size);
  for (const BlasFunction& function : found.functions)
    EXPECT_EQ(function.convention.integers, IntegerWidth::ilp64) << function.names.front();
}

TEST(BlasFunctions, BehindAPrefixNeedProof) {
  const BlasFunctions unproven = found_in(symbol_fixture("libsymbols_one_style.so"));
  EXPECT_TRUE(unproven.functions.empty());
  EXPECT_EQ(unproven.left_alone.size(), table_size);
  const BlasFunctions marked = found_in(symbol_fixture("symbols_marked"));
  EXPECT_EQ(count(marked, "my_", "_"), table_size);
}

TEST(BlasFunctions, OfProgramsAreFoundWhereTheyHaveSymbols) {
  // Only their code shows that they can be called to find the size of their integers, and code is read only on x86-64.
  const std::size_t known = patch::native == patch::Architecture::x86_64 ? table_size : 0;
  EXPECT_EQ(count(found_in(symbol_fixture("symbols_program")), "", "_"), known);
  EXPECT_EQ(count(found_in(symbol_fixture("symbols_static_program")), "", "_"), known);
  EXPECT_EQ(found_in(symbol_fixture("symbols_stripped")).functions.size(), 0u);
}

TEST(BlasFunctions, AreNotFoundAmongNamesThatRemindOfThem) {
  const BlasFunctions found = found_in(symbol_fixture("libsymbols_no_blas.so"));
  std::vector<std::string> names;
  for (const BlasFunction& function : found.functions) names.push_back(function.names.front());
  EXPECT_THAT(names, testing::IsEmpty());
  std::map<std::string, std::string> rules;
  for (const LeftAlone& left : found.left_alone) rules[left.name] = left.rule;
  EXPECT_EQ(rules["dgemm"], "no underscore, in an object without all of level 3");
  EXPECT_EQ(rules["my_dgemm_"], "unknown prefix: nothing shows that it is BLAS");
  EXPECT_EQ(rules["pdgemm_"], "nothing shows that it is the routine of that name (--trust)") << "no ScaLAPACK is there";
  EXPECT_EQ(rules.count("dgemm_nn"), 0u) << "that is nobody's BLAS routine";
}

TEST(BlasFunctions, ThatOnlyHandOnAreLeftAlone) {
  const BlasFunctions found = found_in(symbol_fixture("libsymbols_dispatcher.so"));
  EXPECT_TRUE(found.functions.empty());
  EXPECT_EQ(found.left_alone.size(), table_size);
  EXPECT_THAT(found.left_alone.front().rule, testing::HasSubstr("MKL's interface layer"));
}

TEST(BlasFunctions, OfCufftwAreLeftAlone) {
  const BlasFunctions found = found_in(symbol_fixture("libsymbols_cufftw.so"));
  EXPECT_TRUE(found.functions.empty());
  ASSERT_EQ(found.left_alone.size(), 2U);
  EXPECT_THAT(found.left_alone.front().rule, testing::HasSubstr("on the GPU by itself"));
}

TEST(BlasFunctions, OfDftiAreLeftAloneIfNothingTellsWhatTheyCompute) {
  EXPECT_EQ(found_in(symbol_fixture("libsymbols_dfti.so")).functions.size(), 2U);
  const BlasFunctions silent = found_in(symbol_fixture("libsymbols_silent_dfti.so"));
  EXPECT_TRUE(silent.functions.empty());
  ASSERT_EQ(silent.left_alone.size(), 2U);
  EXPECT_THAT(silent.left_alone.front().rule, testing::HasSubstr("no DftiGetValue"));
}

TEST(BlasFunctions, KnowTheirSiblings) {
  const BlasFunctions found = found_in(symbol_fixture("libsymbols_both_styles.so"));
  for (const BlasFunction& function : found.functions) {
    const BlasFunction* const other = sibling(found, function, blas_routine(blas::Routine::dtrsm));
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(other->routine, blas_routine(blas::Routine::dtrsm));
    EXPECT_EQ(other->convention.style, function.convention.style);
  }
  EXPECT_EQ(sibling({}, found.functions.front(), blas_routine(blas::Routine::dgemm)), nullptr);
}

/// A table of functions, and its names.
struct WrittenTable {
  std::string entries = std::string(sizeof(Elf64_Sym), '\0');
  std::string names = std::string(1, '\0');

  void add(const std::string& name) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(names.size());
    symbol.st_value = 0x1000 + entries.size();
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = 1;
    entries.append(reinterpret_cast<const char*>(&symbol), sizeof symbol);
    names += name + '\0';
  }
};

/// The spelled functions of a library that exports level 3 and so many LAPACK routines, and has others in .symtab.
std::set<std::string> spelled_in(std::size_t lapack, const std::vector<std::string>& inner) {
  WrittenTable exported;
  for (const std::string_view name : blas_routines.names) exported.add(std::string(name) + '_');
  for (const std::string_view name : lapack_routines.names.first(lapack)) exported.add(std::string(name) + '_');
  WrittenTable all = exported;
  for (const std::string& name : inner) all.add(name);
  const test::TemporaryFile file(test::elf_file({{SHT_DYNSYM, 2, exported.entries},
                                                 {SHT_STRTAB, 0, exported.names},
                                                 {SHT_SYMTAB, 4, all.entries},
                                                 {SHT_STRTAB, 0, all.names},
                                                 {SHT_STRTAB, 0, std::string(1, '\0')}}));
  std::set<std::string> names;
  const auto object = ObjectFile::open(file.path());
  for (const SpelledFunction& function : spelled_functions(*object).functions) names.emplace(function.symbol.name);
  return names;
}

TEST(SpelledFunctions, OfACompleteLibraryAreExported) {
  const std::vector<std::string> inner{"scipy_dgemm_", "dgemm_kernel"};
  const std::set<std::string> complete = spelled_in(100, inner);
  EXPECT_EQ(complete.size(), blas_routines.names.size() + 100);
  EXPECT_TRUE(complete.contains("dgemm_"));
  EXPECT_FALSE(complete.contains("scipy_dgemm_"));
  const std::set<std::string> of_less = spelled_in(99, inner);
  EXPECT_EQ(of_less.size(), blas_routines.names.size() + 99 + 1);
  EXPECT_TRUE(of_less.contains("scipy_dgemm_"));
}

struct RealLibrary {
  const char* pattern;
  std::size_t fortran;  ///< number of standard routines of the table
  std::size_t cblas;
};

class RealLibraries : public testing::TestWithParam<RealLibrary> {};

/// The number of the table's standard routines that are found at the addresses that the dynamic linker finds.
std::size_t standard_routines(const BlasFunctions& found, void* library, const std::string& prefix,
                              const std::string& suffix) {
  const auto* const map = static_cast<const link_map*>(library);
  std::size_t right = 0;
  for (const BlasFunction& function : found.functions) {
    if (function.routine.table != &blas_routines) continue;
    const blas::Routine number = blas_routine(function.routine);
    const blas::RoutineRow& routine = row(number);
    if (function.prefix != prefix || function.suffix != suffix || routine.kind == blas::Kind::gemmt ||
        is_batch(routine.kind) || routine_of(routine.kind, routine.scalar) != number)
      continue;
    for (const std::string& name : function.names)
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(dlsym(library, name.c_str())), map->l_addr + function.address) << name;
    ++right;
  }
  return right;
}

TEST_P(RealLibraries, HaveAllStandardRoutines) {
  glob_t paths{};
  const bool there = glob(GetParam().pattern, 0, nullptr, &paths) == 0;
  const std::string path = there ? paths.gl_pathv[0] : "";
  globfree(&paths);
  if (!there) GTEST_SKIP() << "not installed";
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const BlasFunctions found = found_in(path);
  EXPECT_EQ(standard_routines(found, library, "", "_"), GetParam().fortran);
  EXPECT_EQ(standard_routines(found, library, "cblas_", ""), GetParam().cblas);
  for (const BlasFunction& function : found.functions) EXPECT_FALSE(function.indirect) << function.names.front();
}

INSTANTIATE_TEST_SUITE_P(Installed, RealLibraries,
                         testing::Values(RealLibrary{"/usr/lib/*/blas/libblas.so.3", 38, 38},
                                         RealLibrary{"/usr/lib/*/openblas-pthread/libopenblas.so.0", 38, 38},
                                         RealLibrary{"/usr/lib/*/openblas-pthread/libblas.so.3", 38, 38},
                                         RealLibrary{"/usr/lib/*/blis-*/libblis.so.4", 38, 38},
                                         RealLibrary{"/usr/lib/*/libf77blas.so.3", 38, 0},
                                         RealLibrary{"/usr/lib/*/libcblas.so.3", 0, 38},
                                         RealLibrary{"/usr/lib/*/libatlas.so.3", 0, 0},
                                         RealLibrary{"/usr/lib/*/lapack/liblapack.so.3", 0, 0}));

}  // namespace
}  // namespace blastoff::intercept
