// The common path of all hooks: state the call and pass it to dispatch().
#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>

#include "abi/arguments.h"
#include "abi/original_routine.h"
#include "intercept/blas/entry_points.h"
#include "intercept/dispatch.h"
#include "intercept/original.h"
#include "intercept/passed_on.h"

namespace blastoff::intercept {

/// The original and its companion as an OriginalRoutine.
abi::OriginalRoutine original_routine(const EntryPoint& entry, const Original& original);

/// InterceptedCall::host of BLAS calls.
std::unique_ptr<operation::Host> blas_host(const InterceptedCall& intercepted);

template <abi::Style style, blas::Kind kind, blas::Scalar scalar>
using BlasArguments = PassedOnTuple<abi::ParameterTuple<style, kind, scalar>>;

/// Shared by the hooks of all routines that have the same parameters. enter_fortran.cpp and enter_cblas.cpp have the
/// instances. Returns what the original returned; 0 for a call that a device made.
template <abi::Style style, blas::Kind kind, blas::Scalar scalar>
long enter(const EntryPoint& entry, const Original& original, const BlasArguments<style, kind, scalar>& arguments);

/// Reads the arguments. Returns false if an option letter is invalid, or if the routine is grouped: a call of it is
/// several calls. The instances stand beside those of enter().
template <abi::Style style, blas::Kind kind, blas::Scalar scalar, class Integer>
bool parse(blas::Call* call, blas::Routine routine, const BlasArguments<style, kind, scalar>& arguments);

template <abi::Style style, blas::Routine routine>
struct EnterBlas {
  using Parameters = abi::ParameterTuple<style, row(routine).kind, row(routine).scalar>;

  template <class... Values>
  [[gnu::always_inline]] static long enter(const EntryPoint& entry, const Original& original, Values... values) {
    constexpr blas::Kind kind = row(routine).kind;
    constexpr blas::Scalar scalar = row(routine).scalar;
    static_assert(std::is_same_v<PassedOn<Values...>, BlasArguments<style, kind, scalar>>);
    return intercept::enter<style, kind, scalar>(entry, original, {{values...}, __builtin_return_address(0)});
  }
};

}  // namespace blastoff::intercept
