// Plugins in every linker situation call BLAS names, and this program intercepts the calls.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "abi/reentry.h"
#include "fixtures.h"
#include "intercept/blas/entry_points.h"
#include "intercept/original.h"
#include "intercept/vectors/dispatch.h"
#include "recording_dispatch.h"

// Refers to one name of each object file of exported names, so that all of them are linked.
#define BLASTOFF_EXPORTED [[gnu::visibility("default")]]
extern "C" {
BLASTOFF_EXPORTED void dgemm_();
BLASTOFF_EXPORTED void dgemm();
BLASTOFF_EXPORTED void cblas_dgemm();
}
[[gnu::used]] void* const blastoff_linked_names[] = {reinterpret_cast<void*>(&dgemm_), reinterpret_cast<void*>(&dgemm),
                                                     reinterpret_cast<void*>(&cblas_dgemm)};

namespace blastoff {

namespace test {
Dispatched dispatched;
}

namespace intercept {

void dispatch(const InterceptedCall& intercepted, const Parsed* parsed) {
  test::Dispatched& seen = test::dispatched;
  ++seen.calls;
  seen.entry = &intercepted.entry;
  seen.understood = parsed != nullptr;
  seen.supported += parsed != nullptr && parsed->supported ? 1 : 0;
  if (parsed != nullptr && parsed->supported) seen.call = blas::call_of(parsed->make_operation());
  seen.original = intercepted.original.function;
  if (intercepted.original.function != nullptr)
    abi::run_as_original([&] { intercepted.raw(intercepted.original.function); });
}

void dispatch_distributed(const InterceptedCall& intercepted, const scalapack::Call&) {
  intercepted.raw(intercepted.original.function);
}

bool make_where_left(const VectorsCalled&) {
  return false;
}

bool counted_as_small(operation::RoutineId, double, double) {
  return false;
}

bool dispatch_if_small(const InterceptedCall&, double, double) {
  return false;  // so that dispatch() sees every call
}

}  // namespace intercept

namespace {

using test::dispatched;

void* open(const std::string& name) {
  void* const handle = dlopen((std::string(FIXTURES) + "/lib" + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  return handle;
}

using Call = void (*)(const char* option, long size, double* c);

Call find_call(void* plugin, const char* name) {
  return reinterpret_cast<Call>(dlsym(plugin, name));
}

const fixture_record& last_of(void* plugin, const std::string& library) {
  using Last = const fixture_record* (*)();
  return *reinterpret_cast<Last>(dlsym(plugin, ("last_of_" + library).c_str()))();
}

class Interception : public testing::Test {
 protected:
  void SetUp() override { dispatched = {}; }
  double c[4] = {};
};

TEST_F(Interception, ReachesTheCopyThatTheCallerWouldHaveBound) {
  for (const std::string copy : {"one", "two"}) {
    void* const plugin = open("fixture_caller_" + copy);
    find_call(plugin, "call_dgemm_")("T", 2, c);
    EXPECT_EQ(last_of(plugin, copy).fixture, copy);
  }
  EXPECT_EQ(dispatched.calls, 2);
}

TEST_F(Interception, HandsOnTheArgumentsAsTheyCameWithTheirLengths) {
  void* const plugin = open("fixture_caller_one");
  find_call(plugin, "call_dgemm_")("Transposed", 2, c);
  const fixture_record& received = last_of(plugin, "one");
  EXPECT_STREQ(received.name, "dgemm_");
  EXPECT_EQ(received.option, 'T');
  EXPECT_EQ(received.m, 2);
  EXPECT_EQ(received.c, c);
  EXPECT_EQ(received.last_length, 9U);
  EXPECT_STREQ(dispatched.entry->symbol, "dgemm_");
  ASSERT_TRUE(dispatched.understood);
  EXPECT_EQ(dispatched.call.routine, blas::Routine::dgemm);
  EXPECT_EQ(dispatched.call.m, 2);
  EXPECT_EQ(dispatched.call.result().address, c);
}

TEST_F(Interception, LeavesWhatItDoesNotUnderstandToTheOriginal) {
  void* const plugin = open("fixture_caller_one");
  find_call(plugin, "call_dgemm_")("?", 2, c);
  EXPECT_FALSE(dispatched.understood);
  EXPECT_EQ(last_of(plugin, "one").option, '?');
}

TEST_F(Interception, SeesACallOnceThatTheBlasPassesOnToItself) {
  void* const plugin = open("fixture_caller_two");
  const int before = last_of(plugin, "two").calls;
  find_call(plugin, "call_cblas_dgemm")("", 2, c);
  EXPECT_EQ(last_of(plugin, "two").calls, before + 1);
  EXPECT_EQ(dispatched.calls, 1);
  EXPECT_STREQ(dispatched.entry->symbol, "cblas_dgemm");
}

TEST_F(Interception, ReadsWideIntegersBehindAnUnsuffixedName) {
  void* const plugin = open("fixture_caller_wide");
  const long size = (1L << 33) + 5;
  find_call(plugin, "call_dgemm_")("N", size, c);
  EXPECT_EQ(dispatched.call.m, size);
  EXPECT_EQ(last_of(plugin, "wide").m, size);
  find_call(plugin, "call_cblas_dgemm")("", size, c);
  EXPECT_EQ(dispatched.call.m, size);
  EXPECT_EQ(last_of(plugin, "wide").m, size);
}

TEST_F(Interception, FindsTheLibraryOfAPluginThroughThePluginsUser) {
  open("fixture_caller_one");
  open("fixture_user");
  void* const plugin = open("fixture_caller_unlinked");
  find_call(plugin, "call_dgemm_")("N", 2, c);
  EXPECT_EQ(dispatched.original, dlsym(open("fixture_blas_two"), "dgemm_"));
}

TEST_F(Interception, FindsALibraryThatIsLoadedLater) {
  void* const plugin = open("fixture_caller_unlinked");
  for (int i = 0; i < 2; ++i) find_call(plugin, "call_cgemm_64")("N", 2, c);
  EXPECT_EQ(dispatched.calls, 2);
  EXPECT_EQ(dispatched.original, nullptr);
  void* const library = open("fixture_blas_rare");
  find_call(plugin, "call_cgemm_64")("N", 2, c);
  EXPECT_EQ(dispatched.original, dlsym(library, "cgemm_64"));
}

/// Simulates that the program itself was bound to the library.
TEST_F(Interception, KeepsTheLibraryOfTheProgramsOriginalLoaded) {
  void* const library = open("fixture_blas_kept");
  const intercept::EntryPoint* const entry =
      intercept::sibling(intercept::blas_entry_points[static_cast<std::size_t>(intercept::BlasEntryIndex::dgemm64_)],
                         intercept::blas_routine(blas::Routine::cgemm));
  const void* const caller = &dispatched;
  void* const function = intercept::original_for(*entry, caller).function;
  EXPECT_EQ(function, dlsym(library, "cgemm64_"));
  dlclose(library);
  EXPECT_NE(dlopen((std::string(FIXTURES) + "/libfixture_blas_kept.so").c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
}

TEST_F(Interception, ForwardsAnUndecoratedNameOfAnotherSignatureUntouched) {
  void* const library = open("fixture_foreign");
  using Check = int (*)();
  EXPECT_TRUE(reinterpret_cast<Check>(dlsym(library, "foreign_call_survives"))());
  EXPECT_TRUE(reinterpret_cast<Check>(dlsym(library, "foreign_vectors_survive"))());
  EXPECT_TRUE(reinterpret_cast<Check>(dlsym(library, "foreign_structures_survive"))());
  EXPECT_TRUE(reinterpret_cast<Check>(dlsym(library, "foreign_variable_arguments_survive"))());
  EXPECT_EQ(dispatched.calls, 0);
}

TEST_F(Interception, TakesAnUndecoratedNameOfABlas) {
  void* const plugin = open("fixture_caller_undecorated");
  find_call(plugin, "call_dgemm")("T", 2, c);
  EXPECT_EQ(dispatched.calls, 1);
  EXPECT_STREQ(dispatched.entry->symbol, "dgemm");
  EXPECT_EQ(dispatched.call.m, 2);
  EXPECT_EQ(last_of(plugin, "undecorated").last_length, 9U);

  void* const other = open("fixture_caller_only_undecorated");
  find_call(other, "call_zgemm")("T", 2, c);
  EXPECT_EQ(dispatched.calls, 2);
  EXPECT_EQ(dispatched.call.routine, blas::Routine::zgemm);
  EXPECT_STREQ(last_of(other, "only_undecorated").name, "zgemm");
}

TEST_F(Interception, LeavesNoErrorForTheProgramsDlerror) {
  const intercept::EntryPoint& entry =
      intercept::blas_entry_points[static_cast<std::size_t>(intercept::BlasEntryIndex::scipy_zher2k_64)];
  EXPECT_EQ(intercept::original_for(entry, &dispatched).function, nullptr);
  EXPECT_EQ(dlerror(), nullptr);
}

}  // namespace
}  // namespace blastoff
