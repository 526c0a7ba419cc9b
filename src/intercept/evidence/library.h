// What only a call of a library can show: the width of its integers, and whether its real numbers have the usual size.
// Compiler options change both without changing the names.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "abi/convention.h"
#include "blas/types.h"

namespace blastoff::intercept {

/// A function of the library that can be called with known arguments; its answer shows the sizes.
struct Witness {
  enum class Kind : std::uint8_t {
    none,
    largest,    ///< idamax_: returns the position of the largest number
    largest_c,  ///< cblas_idamax
    cholesky,   ///< dpotrf_
    numroc,     ///< ScaLAPACK's numroc_, which takes no arrays
  };
  Kind kind = Kind::none;
  std::uint64_t address = 0;

  explicit operator bool() const { return kind != Kind::none; }
};

/// One witness for each type of element.
using Witnesses = std::array<Witness, 4>;

/// Asks a library about its numbers. There is one Library for each object that has to be asked. It asks at the first
/// call of a routine, when the program itself calls the library; any thread may call. Never freed.
class Library {
 public:
  /// `witnesses`: with their addresses in this process. `reals_known`: bit i is set if the real numbers of the i-th
  /// type are known to have the usual size. `changes`: the width of the integers may change from call to call.
  Library(const Witnesses& witnesses, unsigned reals_known, bool changes)
      : witnesses_(witnesses), reals_known_(reals_known), changes_(changes) {}

  /// Returns the width of the integers; nullopt: no call of the library can be understood.
  std::optional<abi::IntegerWidth> integers(blas::Scalar scalar) {
    switch (answers_[static_cast<std::size_t>(scalar)].load(std::memory_order_relaxed)) {
      [[likely]] case Answer::lp64 : return abi::IntegerWidth::lp64;
      case Answer::ilp64: return abi::IntegerWidth::ilp64;
      case Answer::doubtful: return std::nullopt;
      case Answer::unasked: break;
    }
    return ask(scalar);
  }

 private:
  enum class Answer : std::uint8_t { unasked, lp64, ilp64, doubtful };

  std::optional<abi::IntegerWidth> ask(blas::Scalar scalar);
  bool has_usual_reals(blas::Scalar scalar);
  std::optional<abi::IntegerWidth> width(blas::Scalar scalar) const;

  const Witnesses witnesses_;
  std::atomic<unsigned> reals_known_;
  const bool changes_;
  std::array<std::atomic<Answer>, 4> answers_{};
};

}  // namespace blastoff::intercept
