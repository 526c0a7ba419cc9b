// Tests of every routine with the system's LAPACK.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "example.h"
#include "lapack/host_routine.h"
#include "system_library.h"

namespace blastoff::test {

class OnSystemLapack : public testing::TestWithParam<Routine> {
 protected:
  void SetUp() override {
    if (function() == nullptr) GTEST_SKIP() << "no " << row(GetParam()).name << " on this machine";
  }

  static void* function() { return system_lapack_function(std::string(row(GetParam()).name) + "_"); }
  static lapack::HostRoutine host() { return {GetParam(), function()}; }
  static Kind kind() { return row(GetParam()).kind; }
  static bool is_complex() { return blas::is_complex(row(GetParam()).scalar); }
  static bool is_single() { return blas::machine_epsilon(row(GetParam()).scalar) > 1e-10; }
  static std::vector<Options> options() { return all_options(kind(), is_complex()); }
};

/// Without those that only move numbers (row_exchange_test.cpp, copy_test.cpp), or look at them (norm_test.cpp): they
/// accept any, and never fail.
inline std::vector<Routine> every_routine() {
  std::vector<Routine> routines;
  for (std::size_t i = 0; i < lapack::routine_count; ++i)
    if (lapack::row(lapack::routine_table[i].kind).flops != nullptr) routines.push_back(static_cast<Routine>(i));
  return routines;
}

inline std::string name_of(const testing::TestParamInfo<Routine>& info) {
  return row(info.param).name;
}

/// Elements of an operand's part that its routine refers to.
inline bool refers_to(const lapack::Problem& problem, const operation::Operand& operand, std::int64_t row,
                      std::int64_t column) {
  if (problem.diag == 'u' && operand.part != operation::Part::full && row == column) return false;
  return operand.part == operation::Part::full ||
         (operand.part == operation::Part::upper ? row <= column : row >= column);
}

}  // namespace blastoff::test
