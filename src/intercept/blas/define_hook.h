// BLASTOFF_DEFINE_HOOK defines a function with a routine's parameters. C cannot define a function from its type alone,
// so a parameter list is written out for every length that occurs. EnterBlas checks them against the types.
#pragma once

#include <tuple>

#include "abi/arguments.h"
#include "intercept/blas/enter.h"

#define BLASTOFF_COUNT_fortran_gemm 15
#define BLASTOFF_COUNT_fortran_gemmt 16
#define BLASTOFF_COUNT_fortran_symm 14
#define BLASTOFF_COUNT_fortran_hemm 14
#define BLASTOFF_COUNT_fortran_syrk 12
#define BLASTOFF_COUNT_fortran_herk 12
#define BLASTOFF_COUNT_fortran_syr2k 14
#define BLASTOFF_COUNT_fortran_her2k 14
#define BLASTOFF_COUNT_fortran_trmm 15
#define BLASTOFF_COUNT_fortran_trsm 15
#define BLASTOFF_COUNT_fortran_gemv 12
#define BLASTOFF_COUNT_fortran_symv 11
#define BLASTOFF_COUNT_fortran_hemv 11
#define BLASTOFF_COUNT_fortran_gemm_batch 17
#define BLASTOFF_COUNT_fortran_gemm_batch_strided 19
#define BLASTOFF_COUNT_fortran_trsm_batch 17
#define BLASTOFF_COUNT_fortran_trsm_batch_strided 18
#define BLASTOFF_COUNT_cblas_gemm 14
#define BLASTOFF_COUNT_cblas_gemmt 14
#define BLASTOFF_COUNT_cblas_symm 13
#define BLASTOFF_COUNT_cblas_hemm 13
#define BLASTOFF_COUNT_cblas_syrk 11
#define BLASTOFF_COUNT_cblas_herk 11
#define BLASTOFF_COUNT_cblas_syr2k 13
#define BLASTOFF_COUNT_cblas_her2k 13
#define BLASTOFF_COUNT_cblas_trmm 12
#define BLASTOFF_COUNT_cblas_trsm 12
#define BLASTOFF_COUNT_cblas_gemv 12
#define BLASTOFF_COUNT_cblas_symv 11
#define BLASTOFF_COUNT_cblas_hemv 11
#define BLASTOFF_COUNT_cblas_gemm_batch 16
#define BLASTOFF_COUNT_cblas_gemm_batch_strided 18
#define BLASTOFF_COUNT_cblas_trsm_batch 14
#define BLASTOFF_COUNT_cblas_trsm_batch_strided 15

#define BLASTOFF_PARAMETER(style, name, position) \
  blastoff::intercept::ParameterAt<blastoff::abi::Style::style, blastoff::blas::Routine::name, position> p##position

#define BLASTOFF_PARAMETERS_11(s, n)                                                                                  \
  BLASTOFF_PARAMETER(s, n, 0), BLASTOFF_PARAMETER(s, n, 1), BLASTOFF_PARAMETER(s, n, 2), BLASTOFF_PARAMETER(s, n, 3), \
      BLASTOFF_PARAMETER(s, n, 4), BLASTOFF_PARAMETER(s, n, 5), BLASTOFF_PARAMETER(s, n, 6),                          \
      BLASTOFF_PARAMETER(s, n, 7), BLASTOFF_PARAMETER(s, n, 8), BLASTOFF_PARAMETER(s, n, 9),                          \
      BLASTOFF_PARAMETER(s, n, 10)
#define BLASTOFF_PARAMETERS_12(s, n) BLASTOFF_PARAMETERS_11(s, n), BLASTOFF_PARAMETER(s, n, 11)
#define BLASTOFF_PARAMETERS_13(s, n) BLASTOFF_PARAMETERS_12(s, n), BLASTOFF_PARAMETER(s, n, 12)
#define BLASTOFF_PARAMETERS_14(s, n) BLASTOFF_PARAMETERS_13(s, n), BLASTOFF_PARAMETER(s, n, 13)
#define BLASTOFF_PARAMETERS_15(s, n) BLASTOFF_PARAMETERS_14(s, n), BLASTOFF_PARAMETER(s, n, 14)
#define BLASTOFF_PARAMETERS_16(s, n) BLASTOFF_PARAMETERS_15(s, n), BLASTOFF_PARAMETER(s, n, 15)
#define BLASTOFF_PARAMETERS_17(s, n) BLASTOFF_PARAMETERS_16(s, n), BLASTOFF_PARAMETER(s, n, 16)
#define BLASTOFF_PARAMETERS_18(s, n) BLASTOFF_PARAMETERS_17(s, n), BLASTOFF_PARAMETER(s, n, 17)
#define BLASTOFF_PARAMETERS_19(s, n) BLASTOFF_PARAMETERS_18(s, n), BLASTOFF_PARAMETER(s, n, 18)

#define BLASTOFF_VALUES_11 p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10
#define BLASTOFF_VALUES_12 BLASTOFF_VALUES_11, p11
#define BLASTOFF_VALUES_13 BLASTOFF_VALUES_12, p12
#define BLASTOFF_VALUES_14 BLASTOFF_VALUES_13, p13
#define BLASTOFF_VALUES_15 BLASTOFF_VALUES_14, p14
#define BLASTOFF_VALUES_16 BLASTOFF_VALUES_15, p15
#define BLASTOFF_VALUES_17 BLASTOFF_VALUES_16, p16
#define BLASTOFF_VALUES_18 BLASTOFF_VALUES_17, p17
#define BLASTOFF_VALUES_19 BLASTOFF_VALUES_18, p18

#define BLASTOFF_JOIN(left, right) BLASTOFF_JOIN_EXPANDED(left, right)
#define BLASTOFF_JOIN_EXPANDED(left, right) left##right

// The function executes `enter(arguments...)`.
#define BLASTOFF_DEFINE_HOOK(specifiers, function, name, style, kind, enter)                                    \
  specifiers void function(BLASTOFF_JOIN(BLASTOFF_PARAMETERS_, BLASTOFF_COUNT_##style##_##kind)(style, name)) { \
    enter(BLASTOFF_JOIN(BLASTOFF_VALUES_, BLASTOFF_COUNT_##style##_##kind));                                    \
  }

namespace blastoff::intercept {

template <abi::Style style, blas::Routine routine, std::size_t position>
using ParameterAt = std::tuple_element_t<position, abi::ParameterTuple<style, row(routine).kind, row(routine).scalar>>;

}  // namespace blastoff::intercept
