// The facts about memory that are known without asking the kernel or a device.
#include "runtime/met_memory.h"

#include <gtest/gtest.h>

namespace blastoff::runtime {
namespace {

constexpr std::uintptr_t mebibyte = std::uintptr_t{1} << 20;

/// An operation on a matrix of the given size at the given address, which is never accessed.
operation::Operation of_matrix(std::uintptr_t address, std::int64_t mebibytes, operation::Intent intent) {
  operation::Operation operation;
  operation.add({.address = reinterpret_cast<void*>(address),
                 .rows = mebibytes << 17,
                 .columns = 1,
                 .leading_dimension = mebibytes << 17,
                 .element_size = 8,
                 .intent = intent});
  return operation;
}

TEST(MetMemory, HoldsResultsWhereTheDeviceHasReadOrWritten) {
  MetMemory met;
  const auto may = [&](std::uintptr_t at, operation::Intent intent = operation::Intent::write) {
    return met.may_hold_result(of_matrix(at * mebibyte, 1, intent));
  };
  EXPECT_FALSE(may(100));
  met.meet(of_matrix(100 * mebibyte, 8, operation::Intent::read));
  for (const std::uintptr_t at : {100U, 103U, 107U}) EXPECT_TRUE(may(at)) << at;
  EXPECT_FALSE(may(98));
  EXPECT_FALSE(may(108));
  EXPECT_FALSE(may(100, operation::Intent::read)) << "no result";
  EXPECT_TRUE(met.may_hold_result(of_matrix(90 * mebibyte, 11, operation::Intent::update))) << "reaches into it";
}

TEST(MetMemory, HoldsEverythingWhereAMatrixIsLargerThanItCanTell) {
  MetMemory met;
  met.meet(of_matrix(mebibyte << 10, 1 << 20, operation::Intent::write));
  for (std::uintptr_t at = 0; at < 8192; at += 100)
    EXPECT_TRUE(met.may_hold_result(of_matrix((at + 1) * mebibyte, 1, operation::Intent::write)));
}

}  // namespace
}  // namespace blastoff::runtime
