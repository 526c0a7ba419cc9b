#include "intercept/evidence/library.h"

#include <cfenv>
#include <cstddef>
#include <cstring>

#include "abi/reentry.h"
#include "platform/errno_guard.h"

namespace blastoff::intercept {
namespace {

using abi::IntegerWidth;
using Kind = Witness::Kind;

/// Room for some numbers of any type, and for integers that are written wider than expected.
struct alignas(64) Room {
  std::byte bytes[256];
};

template <class Number>
void place(Room& room, std::initializer_list<Number> numbers) {
  std::memset(&room, 0, sizeof room);
  std::memcpy(&room, std::data(numbers), numbers.size() * sizeof(Number));
}

/// Returns an integer that reads as `lower` in 32 bits. Its upper 32 bits are `upper`.
std::int64_t integer(std::int32_t lower, std::int32_t upper) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(static_cast<std::uint32_t>(upper)) << 32 |
                                   static_cast<std::uint32_t>(lower));
}

bool is_single(blas::Scalar scalar) {
  return scalar == blas::Scalar::s || scalar == blas::Scalar::c;
}

/// Two numbers of the type, of which the first is the larger one. If they are read as numbers of another size, the
/// second is the larger one.
Room first_is_largest(blas::Scalar scalar) {
  Room room;
  const bool complex = blas::is_complex(scalar);
  if (is_single(scalar))
    complex ? place<float>(room, {2, 0, 1, 0, 3, 4, 5, 6}) : place<float>(room, {2, 1, 3, 4});
  else
    complex ? place<double>(room, {2, 0, 1, 0, 0, 1e300, 0, 1e300}) : place<double>(room, {2, 1, 0, 1e300});
  return room;
}

/// Returns the position of the larger of two numbers; 0: the library takes `count` for a negative number.
int largest(const Witness& witness, std::int64_t count, const Room& numbers) {
  const std::int64_t step = 1;
  if (witness.kind == Kind::largest_c) {
    using Function = std::size_t(std::int64_t, const void*, std::int64_t);
    return static_cast<int>(reinterpret_cast<Function*>(witness.address)(count, &numbers, step));
  }
  using Function = int(const std::int64_t*, const void*, const std::int64_t*);
  return reinterpret_cast<Function*>(witness.address)(&count, &numbers, &step);
}

std::optional<IntegerWidth> width_by_largest(const Witness& witness, blas::Scalar scalar) {
  // The second number is the larger one for every size of numbers: this asks only how the count is read.
  Room numbers;
  const bool complex = blas::is_complex(scalar);
  if (is_single(scalar))
    complex ? place<float>(numbers, {1, 1, 2, 2, 4, 4, 8, 8}) : place<float>(numbers, {1, 2, 4, 8});
  else
    complex ? place<double>(numbers, {1, 1, 2, 2}) : place<double>(numbers, {1, 2});
  const int two = witness.kind == Kind::largest_c ? 1 : 2;
  if (largest(witness, integer(2, 0), numbers) != two) return std::nullopt;
  const int answer = largest(witness, integer(2, -1), numbers);
  if (answer == two) return IntegerWidth::lp64;
  return answer == 0 ? std::optional(IntegerWidth::ilp64) : std::nullopt;
}

bool usual_by_largest(const Witness& witness, blas::Scalar scalar) {
  const Room numbers = first_is_largest(scalar);
  return largest(witness, integer(2, 0), numbers) == (witness.kind == Kind::largest_c ? 0 : 1);
}

/// Returns a matrix of one element, 4 or its Cholesky factor 2. If it is read as a number of another size, the bytes
/// behind it give another value.
Room matrix_of(bool factor, blas::Scalar scalar) {
  Room room;
  const bool complex = blas::is_complex(scalar);
  if (is_single(scalar))
    place<std::uint32_t>(room, {factor ? 0x40000000U : 0x40800000U, complex ? 0U : 0x40100000U});
  else
    place<std::uint64_t>(room,
                         {factor ? 0x4000000000000000U : 0x4010000000000000U, complex ? 0U : 0x4001000000000000U});
  return room;
}

struct Factorization {
  std::int64_t info = -1;  ///< if the library writes 32 bits, the upper half stays
  Room matrix;
};

Factorization factorization(const Witness& witness, blas::Scalar scalar) {
  Factorization result{.matrix = matrix_of(false, scalar)};
  const std::int64_t one = 1;
  using Function = long(const char*, const std::int64_t*, void*, const std::int64_t*, std::int64_t*, std::size_t);
  reinterpret_cast<Function*>(witness.address)("U", &one, &result.matrix, &one, &result.info, 1);
  return result;
}

std::optional<IntegerWidth> width_by_cholesky(const Witness& witness, blas::Scalar scalar) {
  const std::int64_t info = factorization(witness, scalar).info;
  if (info == 0) return IntegerWidth::ilp64;
  return info == integer(0, -1) ? std::optional(IntegerWidth::lp64) : std::nullopt;
}

bool usual_by_cholesky(const Witness& witness, blas::Scalar scalar) {
  const Room factor = matrix_of(true, scalar);
  const Factorization result = factorization(witness, scalar);
  return std::memcmp(&result.matrix, &factor, sizeof factor) == 0;
}

/// Five rows in blocks of one on two processes: the first process has three of them. If the upper half of the integer
/// counts, it has many more.
std::optional<IntegerWidth> width_by_numroc(const Witness& witness) {
  const std::int64_t rows = integer(5, 1);
  const std::int64_t one = 1;
  const std::int64_t zero = 0;
  const std::int64_t two = 2;
  using Function =
      int(const std::int64_t*, const std::int64_t*, const std::int64_t*, const std::int64_t*, const std::int64_t*);
  const int own = reinterpret_cast<Function*>(witness.address)(&rows, &one, &zero, &zero, &two);
  if (own == 3) return IntegerWidth::lp64;
  return own == -0x7ffffffd ? std::optional(IntegerWidth::ilp64) : std::nullopt;
}

std::optional<IntegerWidth> width_by(const Witness& witness, blas::Scalar scalar) {
  switch (witness.kind) {
    case Kind::none: break;
    case Kind::largest:
    case Kind::largest_c: return width_by_largest(witness, scalar);
    case Kind::cholesky: return width_by_cholesky(witness, scalar);
    case Kind::numroc: return width_by_numroc(witness);
  }
  return std::nullopt;
}

bool usual_by(const Witness& witness, blas::Scalar scalar) {
  switch (witness.kind) {
    case Kind::none: break;
    case Kind::numroc: return true;  // numroc tells nothing about real numbers
    case Kind::largest:
    case Kind::largest_c: return usual_by_largest(witness, scalar);
    case Kind::cholesky: return usual_by_cholesky(witness, scalar);
  }
  return false;
}

}  // namespace

bool Library::has_usual_reals(blas::Scalar scalar) {
  const auto number = static_cast<std::size_t>(scalar);
  if ((reals_known_.load(std::memory_order_relaxed) >> number & 1U) != 0) return true;
  const Witness& own = witnesses_[number];
  if (!own || !usual_by(own, scalar)) return false;
  reals_known_.fetch_or(1U << number, std::memory_order_relaxed);
  return true;
}

std::optional<IntegerWidth> Library::width(blas::Scalar scalar) const {
  const Witness& own = witnesses_[static_cast<std::size_t>(scalar)];
  if (own) return width_by(own, scalar);
  for (std::size_t i = 0; i < witnesses_.size(); ++i)
    if (witnesses_[i]) return width_by(witnesses_[i], static_cast<blas::Scalar>(i));
  return std::nullopt;
}

std::optional<IntegerWidth> Library::ask(blas::Scalar scalar) {
  const platform::ErrnoGuard errno_stays;
  std::fenv_t environment;
  std::fegetenv(&environment);
  std::optional<IntegerWidth> integers;
  abi::run_as_original([&] {
    if (has_usual_reals(scalar)) integers = width(scalar);
  });
  std::fesetenv(&environment);
  Answer answer = Answer::doubtful;
  if (integers) answer = *integers == IntegerWidth::ilp64 ? Answer::ilp64 : Answer::lp64;
  if (!changes_) answers_[static_cast<std::size_t>(scalar)].store(answer, std::memory_order_relaxed);
  return integers;
}

}  // namespace blastoff::intercept
