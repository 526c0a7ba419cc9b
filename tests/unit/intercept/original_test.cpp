#include "intercept/original.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "intercept/binding.h"
#include "intercept/blas/enter.h"
#include "intercept/integer_width.h"
#include "intercept/loaded_objects.h"
#include "intercept/lookup.h"
#include "platform/caller.h"
#include "system_library.h"

namespace blastoff::intercept {
namespace {

const EntryPoint& entry(BlasEntryIndex index) {
  return blas_entry_points[static_cast<std::size_t>(index)];
}

TEST(EntryPoints, AreSpelledByPrefixNameAndSuffix) {
  std::set<std::string> symbols;
  for (const EntryPoint& each : blas_entry_points) {
    EXPECT_EQ(each.symbol, std::string(each.prefix) + std::string(each.routine.name()) + each.suffix);
    EXPECT_TRUE(symbols.insert(each.symbol).second) << each.symbol;
    const bool named_wide = std::string(each.suffix).find("64") != std::string::npos;
    EXPECT_EQ(each.convention.integers == abi::IntegerWidth::ilp64, named_wide) << each.symbol;
    const bool named_cblas = std::string(each.prefix).find("cblas_") != std::string::npos;
    EXPECT_EQ(each.convention.style == abi::Style::cblas, named_cblas) << each.symbol;
    EXPECT_EQ(each.undecorated, *each.prefix == '\0' && *each.suffix == '\0') << each.symbol;
  }
  EXPECT_EQ(symbols.size(), 48U * 15U);
}

TEST(EntryPoints, HaveSiblingsOfTheSameSpelling) {
  EXPECT_STREQ(sibling(entry(BlasEntryIndex::dsyrk_), blas_routine(blas::Routine::dgemm))->symbol, "dgemm_");
  EXPECT_STREQ(sibling(entry(BlasEntryIndex::scipy_cblas_zherk64_), blas_routine(blas::Routine::zgemm))->symbol,
               "scipy_cblas_zgemm64_");
  EXPECT_EQ(sibling(EntryPoint{}, blas_routine(blas::Routine::dgemm)), nullptr);
}

TEST(IntegerWidth, IsReadFromTheLibrarysName) {
  for (const char* const wide :
       {"/usr/lib/x86_64-linux-gnu/blas64/libblas64.so.3", "libopenblas64.so.0", "libopenblas64_p-r0.3.21.so",
        "/opt/mkl/libmkl_intel_ilp64.so.2", "libscipy_openblas64_-32a4b2a6.so", "libblis64.so.4", "libflexiblas64.so.3",
        "/usr/lib/libopenblas_ilp64.so"}) {
    EXPECT_TRUE(names_wide_integers(wide)) << wide;
  }
  for (const char* const narrow :
       {"/usr/lib64/libblas.so.3", "/usr/lib/x86_64-linux-gnu/libopenblas.so.0", "libblas_x86_64.so", "libmkl_rt.so.2",
        "libmkl_scalapack_lp64.so.2", "libnvpl_lapack_lp64_gomp.so.0", "libscipy_openblas-6cdc3b4a.so",
        "libopenblasp-r0.3.64.so", "/opt/openblas64/lib/libsomething.so", ""}) {
    EXPECT_FALSE(names_wide_integers(narrow)) << narrow;
  }
}

LoadedObject listed(const char* path, const char* name, std::vector<std::string> needed) {
  LoadedObject object;
  object.path = path;
  object.name = name;
  object.needed = std::move(needed);
  return object;
}

TEST(Dependencies, AreFollowedThroughOtherObjects) {
  const std::vector<LoadedObject> objects{listed("", "program", {"libuser.so"}),
                                          listed("/a/libuser.so", "libuser.so", {"libplugin.so.1", "libc.so.6"}),
                                          listed("/a/libplugin.so.1.2", "libplugin.so.1", {}),
                                          listed("/a/libother.so", "libother.so", {"libuser.so", "libother.so"})};
  EXPECT_TRUE(depends_on(objects, objects[0], "libplugin.so.1"));
  EXPECT_TRUE(depends_on(objects, objects[3], "libplugin.so.1"));
  EXPECT_FALSE(depends_on(objects, objects[2], "libuser.so"));
  EXPECT_FALSE(depends_on(objects, objects[1], "libother.so"));
}

TEST(LoadedObjects, HoldTheProgramAndItsLibraries) {
  const std::vector<LoadedObject> objects = loaded_objects();
  ASSERT_FALSE(objects.empty());
  EXPECT_EQ(objects.front().path, "");
  EXPECT_TRUE(objects.front().contains(&blas_entry_points));
  bool has_c_library = false;
  for (const LoadedObject& object : objects) has_c_library |= object.name == "libc.so.6";
  EXPECT_TRUE(has_c_library);
}

/// Stands for a call site: any address of this program.
const void* call_site(std::size_t number) {
  return reinterpret_cast<const void*>(loaded_objects().front().begin + number);
}

TEST(OriginalFor, IsTheSameForEveryThread) {
  void* const expected = test::system_blas_function("zherk_");
  ASSERT_NE(expected, nullptr);
  const char* const base = static_cast<const char*>(call_site(0));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        for (std::size_t site = 0; site < 100; ++site) {
          if (original_for(entry(BlasEntryIndex::zherk_), base + site).function != expected) ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

/// Runs in its own process, with the BLAS in the global scope, where it is found at once for very many call sites.
void look_up_more_often_than_the_table_holds() {
  const Original first = original_for(entry(BlasEntryIndex::zherk_), call_site(0));
  if (dlopen(path_of(first.function), RTLD_NOW | RTLD_GLOBAL) == nullptr) _exit(1);
  const char* const base = static_cast<const char*>(call_site(0));
  for (std::size_t site = 0; site < 17000; ++site) {
    if (original_for(entry(BlasEntryIndex::zherk_), base + site).function != first.function) _exit(2);
  }
  _exit(0);
}

TEST(OriginalFor, IsFoundForMoreCallSitesThanTheTableHolds) {
  ASSERT_NE(test::system_blas(), nullptr);
  EXPECT_NE(std::strstr(path_of(original_for(entry(BlasEntryIndex::zherk_), call_site(0)).function), "blas"), nullptr);
  EXPECT_EXIT(look_up_more_often_than_the_table_holds(), testing::ExitedWithCode(0), "");
}

/// Code that a program generates at run time belongs to no object. The dynamic linker is called once for it; a later
/// call would consume the error that is pending for dlerror().
TEST(OriginalFor, IsTheSameForAllCodeThatBelongsToNoObject) {
  ASSERT_NE(test::system_blas(), nullptr);
  const std::vector<char> memory(40000);
  const auto original = [&](std::size_t site) {
    return original_for(entry(BlasEntryIndex::zher2k_), memory.data() + site).function;
  };
  void* const expected = original(0);
  EXPECT_EQ(expected, test::system_blas_function("zher2k_"));
  dlsym(RTLD_DEFAULT, "blastoff_no_such_name");
  for (std::size_t site = 1; site < memory.size(); ++site) ASSERT_EQ(original(site), expected) << site;
  EXPECT_NE(dlerror(), nullptr);
}

TEST(BindingsOfAName, HoldForAllCallSitesOfAnObjectUntilObjectsChange) {
  ASSERT_NE(test::system_blas(), nullptr);
  platform::prepare_callers();
  const EntryPoint& name = entry(BlasEntryIndex::zsyrk_);
  const Original original = original_for(name, call_site(0));
  const char routine = 0;
  NameBindings bindings;
  bind(bindings, name, call_site(0), &routine);
  const Binding* const bound = bindings.find(call_site(0));
  ASSERT_NE(bound, nullptr);
  EXPECT_EQ(bound->original, original);
  EXPECT_EQ(bound->target, original.intercepted ? static_cast<const void*>(&routine) : original.function);
  EXPECT_EQ(bindings.find(call_site(3)), bound);
  EXPECT_EQ(bindings.find(&bindings), nullptr) << "in no object";
  ++blastoff_linker_changes;
  EXPECT_EQ(bindings.find(call_site(0)), nullptr);
  EXPECT_EQ(original_for(name, call_site(0)), original);
  bind(bindings, name, call_site(0), &routine);
  EXPECT_EQ(bindings.find(call_site(0)), bound) << "the same, and no more memory";
}

TEST(BindingsOfAName, AreOfOneObjectAndSometimesOfAnother) {
  ASSERT_NE(test::system_blas(), nullptr);
  platform::prepare_callers();
  const EntryPoint& name = entry(BlasEntryIndex::csyrk_);
  const auto* const elsewhere = test::system_blas_function("csyrk_");
  ++blastoff_linker_changes;  // as if a change had been noticed
  const char routine = 0;
  NameBindings bindings;
  const auto call = [&](const void* caller) {
    original_for(name, caller);
    bind(bindings, name, caller, &routine);
  };
  call(call_site(0));
  ASSERT_NE(bindings.find(call_site(0)), nullptr);
  call(elsewhere);
  EXPECT_NE(bindings.find(call_site(0)), nullptr) << "a few calls by others change nothing";
  for (int i = 0; i < 64; ++i) call(elsewhere);
  EXPECT_NE(bindings.find(elsewhere), nullptr);
}

TEST(OriginalOfACall, IsThatOfItsNameWhateverWasCalledBetween) {
  ASSERT_NE(test::system_blas(), nullptr);
  const EntryPoint& syrk = entry(BlasEntryIndex::dsyrk_);
  const EntryPoint& trmm = entry(BlasEntryIndex::dtrmm_);
  const Original original = original_for(syrk, call_site(0));
  ASSERT_NE(original, original_for(trmm, call_site(0)));
  const char routine = 0;
  NameBindings none;  // without bindings, each call asks what its name means
  const auto asks = [&](const EntryPoint& name) {
    none.current = nullptr;
    meaning_of(name, call_site(0), &routine, none);
  };
  asks(syrk);
  EXPECT_EQ(original_of_call(syrk, call_site(0)), original);
  EXPECT_EQ(original_of_call(trmm, call_site(0)), original_for(trmm, call_site(0))) << "nothing is left of the first";
  asks(syrk);
  asks(trmm);  // a signal handler's call
  EXPECT_EQ(original_of_call(trmm, call_site(0)), original_for(trmm, call_site(0)));
  EXPECT_EQ(original_of_call(syrk, call_site(0)), original);
  asks(syrk);
  EXPECT_EQ(original_of_call(trmm, call_site(0)), original_for(trmm, call_site(0)));
  ++blastoff_linker_changes;
  EXPECT_EQ(original_of_call(syrk, call_site(0)), original) << "looked up anew";
}

TEST(OriginalFor, IsNothingWhereNoLibraryHasIt) {
  const Original none = original_for(entry(BlasEntryIndex::scipy_cblas_cher2k_64), call_site(1));
  EXPECT_EQ(none.function, nullptr);
  EXPECT_TRUE(none.intercepted);
}

TEST(OriginalRoutine, HasTheSameLibrarysCompanion) {
  ASSERT_NE(test::system_blas(), nullptr);
  const EntryPoint& syrk = entry(BlasEntryIndex::dsyrk_);
  const abi::OriginalRoutine host = original_routine(syrk, original_for(syrk, call_site(2)));
  blas::Call call;
  call.routine = blas::Routine::dsyrk;
  EXPECT_TRUE(host.can_compute(call));
  call.routine = blas::Routine::dgemm;
  EXPECT_TRUE(host.can_compute(call));
  call.routine = blas::Routine::dtrsm;
  EXPECT_FALSE(host.can_compute(call));
}

}  // namespace
}  // namespace blastoff::intercept
