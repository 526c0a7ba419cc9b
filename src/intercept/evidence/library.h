// What only a call of a library shows: how wide its integers are, and whether its real numbers have the usual size
// (compilers widen either at wish, and leave the names as they are).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "abi/convention.h"
#include "blas/types.h"

namespace blastoff::intercept {

/// A function of the library whose answer tells.
struct Witness {
  enum class Kind : std::uint8_t {
    none,
    largest,    ///< idamax_: where the largest number is
    largest_c,  ///< cblas_idamax
    cholesky,   ///< dpotrf_
    numroc,     ///< ScaLAPACK's numroc_: no arrays
  };
  Kind kind = Kind::none;
  std::uint64_t address = 0;

  explicit operator bool() const { return kind != Kind::none; }
};

/// For each type of element.
using Witnesses = std::array<Witness, 4>;

/// One for each object that has to be asked. It is asked at the first call of a routine, when the program itself calls
/// the library; any thread may. Never freed.
class Library {
 public:
  /// `witnesses`: by their addresses in this process. `reals_known`: bit i, the numbers of the i-th type are as usual.
  /// `changes`: its integers may have another width at the next call.
  Library(const Witnesses& witnesses, unsigned reals_known, bool changes)
      : witnesses_(witnesses), reals_known_(reals_known), changes_(changes) {}

  /// nullopt: no call of it can be understood.
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
