// The libraries that execute operations; any of them may be absent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blas/front_end.h"
#include "device/gpu/executor.h"

namespace blastoff::device::gpu::cuda {
namespace {

int opened_present = 0;
int opened_absent = 0;

class Library final : public ExecutorLibrary {
 public:
  std::string version() const override { return "Present 1.2"; }
  Result<std::unique_ptr<Executor>> create(const ExecutorStream&) const override {
    return tl::unexpected(Error{ErrorKind::unsupported, "not needed here"});
  }
};

template <operation::RoutineId routine>
bool runs(const operation::Operation& operation) {
  return operation.routine() == routine;
}

Result<std::unique_ptr<ExecutorLibrary>> open_present(const LibrarySearch&) {
  ++opened_present;
  return std::make_unique<Library>();
}

Result<std::unique_ptr<ExecutorLibrary>> open_absent(const LibrarySearch& search) {
  ++opened_absent;
  return tl::unexpected(Error{ErrorKind::unavailable, "Absent not found in " + search.directory});
}

constexpr ExecutorKind absent{runs<1>, open_absent};
constexpr ExecutorKind present{runs<2>, open_present};

operation::Operation operation_of(operation::RoutineId routine) {
  return {blas::front_end(), routine, 0};
}

class ExecutorLibrariesTest : public testing::Test {
 protected:
  void SetUp() override { opened_present = opened_absent = 0; }
};

TEST_F(ExecutorLibrariesTest, AllAreNamedWithWhatTheyCompute) {
  const ExecutorKind kinds[] = {{runs<2>, open_present, false, "BLAS"}, {runs<1>, open_absent, false, "FFTW"}};
  ExecutorLibraries libraries(kinds, {"/nowhere", 13000});
  const std::vector<device::Library> all = libraries.all();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].computes, "BLAS");
  EXPECT_EQ(all[0].version, "Present 1.2");
  EXPECT_EQ(all[0].error, "");
  EXPECT_EQ(all[1].computes, "FFTW");
  EXPECT_EQ(all[1].version, "");
  EXPECT_EQ(all[1].error, "Absent not found in /nowhere");
}

TEST_F(ExecutorLibrariesTest, AreOpenedAtTheirFirstUse) {
  const ExecutorKind kinds[] = {present, absent};
  ExecutorLibraries libraries(kinds, {"/nowhere", 13000});
  EXPECT_EQ(opened_present, 0);
  EXPECT_EQ(libraries.versions(), "");
  const auto kind = libraries.kind_for(operation_of(2));
  ASSERT_TRUE(kind);
  EXPECT_TRUE(libraries.opened(*kind));
  EXPECT_TRUE(libraries.opened(*kind));
  EXPECT_EQ(opened_present, 1);
  EXPECT_EQ(opened_absent, 0);
  EXPECT_EQ(libraries.versions(), ", Present 1.2");
}

TEST_F(ExecutorLibrariesTest, ThatAreAbsentLeaveTheirOperationsToTheCpuAndTheDeviceToOthers) {
  const ExecutorKind kinds[] = {absent, present};
  ExecutorLibraries libraries(kinds, {"/nowhere", 13000});
  EXPECT_TRUE(libraries.require_any());
  for (int time = 0; time < 2; ++time) {
    const auto missing = libraries.opened(*libraries.kind_for(operation_of(1)));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, ErrorKind::unsupported) << "the device works";
    EXPECT_EQ(missing.error().message, "Absent not found in /nowhere");
  }
  EXPECT_EQ(opened_absent, 1) << "it is not looked for at every call";
  EXPECT_TRUE(libraries.opened(*libraries.kind_for(operation_of(2))));
}

TEST_F(ExecutorLibrariesTest, TheDeviceOpensOneToKnowThatItIsOfUse) {
  const ExecutorKind kinds[] = {present, absent, present};
  ExecutorLibraries libraries(kinds, {"/nowhere", 13000});
  EXPECT_TRUE(libraries.require_any());
  EXPECT_EQ(opened_present, 1);
  EXPECT_EQ(opened_absent, 0) << "the others wait for their first use";
}

TEST_F(ExecutorLibrariesTest, WithoutAnyTheDeviceIsOfNoUse) {
  const ExecutorKind kinds[] = {absent};
  ExecutorLibraries libraries(kinds, {"/nowhere", 13000});
  const auto any = libraries.require_any();
  ASSERT_FALSE(any);
  EXPECT_EQ(any.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(any.error().message, "Absent not found in /nowhere");
}

TEST_F(ExecutorLibrariesTest, NoneForAnOperationIsUnsupported) {
  const ExecutorKind kinds[] = {present};
  const ExecutorLibraries libraries(kinds, {"", 13000});
  const auto kind = libraries.kind_for(operation_of(3));
  ASSERT_FALSE(kind);
  EXPECT_EQ(kind.error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace blastoff::device::gpu::cuda
