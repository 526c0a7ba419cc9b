#include "abi/original_routine.h"

#include "abi/arguments.h"
#include "abi/reentry.h"
#include "blas/batch.h"
#include "blas/shape.h"

namespace blastoff::abi {
namespace {

using blas::Call;
using blas::Kind;
using blas::Scalar;

char letter(blas::Side side) {
  return side == blas::Side::left ? 'L' : 'R';
}
char letter(blas::Uplo uplo) {
  return uplo == blas::Uplo::upper ? 'U' : 'L';
}
char letter(blas::Diagonal diagonal) {
  return diagonal == blas::Diagonal::unit ? 'U' : 'N';
}
char letter(blas::Transpose transpose) {
  return transpose == blas::Transpose::none ? 'N' : transpose == blas::Transpose::transpose ? 'T' : 'C';
}

int enumerator(blas::Side side) {
  return side == blas::Side::left ? Cblas::left : Cblas::right;
}
int enumerator(blas::Uplo uplo) {
  return uplo == blas::Uplo::upper ? Cblas::upper : Cblas::lower;
}
int enumerator(blas::Diagonal diagonal) {
  return diagonal == blas::Diagonal::unit ? Cblas::unit : Cblas::non_unit;
}
int enumerator(blas::Transpose transpose) {
  return Cblas::no_transpose + static_cast<int>(transpose);
}

template <class T>
T narrow(blas::Coefficient value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(value.real());
  } else {
    return static_cast<T>(value);
  }
}

/// Holds the value of one argument, so that a reference can point to it.
template <Style style, Kind kind, Scalar scalar, Argument argument>
struct Value {
  explicit Value(const Call& call) : value(of(call)) {}

  static auto of(const Call& call) {
    if constexpr (argument == Argument::order) {
      return int{Cblas::column_major};
    } else if constexpr (argument == Argument::length) {
      return std::size_t{1};
    } else if constexpr (argument == Argument::side) {
      return option(call.side);
    } else if constexpr (argument == Argument::uplo) {
      return option(call.uplo);
    } else if constexpr (argument == Argument::transpose_a) {
      return option(call.transpose_a);
    } else if constexpr (argument == Argument::transpose_b) {
      return option(call.transpose_b);
    } else if constexpr (argument == Argument::diagonal) {
      return option(call.diagonal);
    } else if constexpr (argument == Argument::m) {
      return call.m;
    } else if constexpr (argument == Argument::n) {
      return call.n;
    } else if constexpr (argument == Argument::k) {
      return call.k;
    } else if constexpr (argument == Argument::alpha) {
      return narrow<CoefficientType<kind, scalar, argument>>(call.alpha);
    } else if constexpr (argument == Argument::beta) {
      return narrow<CoefficientType<kind, scalar, argument>>(call.beta);
    } else if constexpr (is_increment(argument)) {
      const bool reversed = argument == Argument::incx ? call.reversed_x : call.reversed_y;
      const std::int64_t size = call.operands()[operand_index(kind, argument)].leading_dimension;
      return reversed ? -size : size;
    } else if constexpr (is_size(argument)) {
      return call.operands()[operand_index(kind, argument)].leading_dimension;
    } else {
      return call.operands()[operand_index(kind, argument)].address;
    }
  }

  template <class Option>
  static auto option(Option value) {
    if constexpr (style == Style::fortran) {
      return letter(value);
    } else {
      return enumerator(value);
    }
  }

  auto pass() const {
    using Parameter = ParameterType<style, kind, scalar, argument>;
    if constexpr (std::is_same_v<Parameter, std::remove_const_t<decltype(value)>>) {
      return value;
    } else {
      return static_cast<Parameter>(&value);
    }
  }

  decltype(of(std::declval<const Call&>())) value;
};

template <Style style, Kind kind, Scalar scalar, Argument... arguments>
void invoke(void* function, const Call& call, ArgumentList<arguments...>) {
  reinterpret_cast<FunctionType<style, kind, scalar>*>(function)(Value<style, kind, scalar, arguments>(call).pass()...);
}

template <Style style>
void invoke(void* function, const Call& call) {
  blas::with_kind(call.kind(), [&]<Kind kind>() {
    const auto with = [&]<Scalar scalar>() {
      if constexpr (blas::exists(kind, scalar) && !blas::is_batch(kind))
        invoke<style, kind, scalar>(function, call, Arguments<style, kind>{});
    };
    switch (call.scalar()) {
      case Scalar::s: return with.template operator()<Scalar::s>();
      case Scalar::d: return with.template operator()<Scalar::d>();
      case Scalar::c: return with.template operator()<Scalar::c>();
      case Scalar::z: return with.template operator()<Scalar::z>();
    }
  });
}

}  // namespace

HostFunction OriginalRoutine::function_for(const Call& call) const {
  if (blas::is_batch(call.kind())) return function_for(blas::one_product(call, 0));
  const auto computes = [&](blas::Routine routine) {
    return call.kind() == row(routine).kind && call.scalar() == row(routine).scalar;
  };
  if (call.conjugated) return {};  // such a call has no column-major form
  if (computes(routine_)) return function_;
  return computes(companion_of(routine_)) ? companion_ : HostFunction{};
}

void OriginalRoutine::compute(const Call& call) const {
  const HostFunction function = function_for(call);
  const auto compute_one = [&](const Call& one) {
    if (function.style == Style::fortran) {
      invoke<Style::fortran>(function.address, one);
    } else {
      invoke<Style::cblas>(function.address, one);
    }
  };
  run_as_original([&] {
    if (!blas::is_batch(call.kind())) return compute_one(call);
    for (std::int64_t product = 0; product < call.products; ++product) compute_one(blas::one_product(call, product));
  });
}

}  // namespace blastoff::abi
