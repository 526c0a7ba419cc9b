#include "lapack/host_routine.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "abi/reentry.h"
#include "blas/integer.h"
#include "lapack/cholesky_series.h"
#include "lapack/kinds.h"

namespace blastoff::lapack {
namespace {

using operation::Operand;
using operation::Operation;
using operation::Part;

/// Every routine is called with as many words as the longest list has. A callee reads only its own words.
using Words = std::array<void*, max_words>;

template <class Returned, std::size_t... positions>
Returned invoke(void* function, const Words& words, std::index_sequence<positions...>) {
  return reinterpret_cast<Returned (*)(decltype((void)positions, static_cast<void*>(nullptr))...)>(function)(
      words[positions]...);
}

/// Returns the first row, and the row after the last, of a column in the operand's part.
std::pair<std::int64_t, std::int64_t> rows_of_part(const Operand& operand, std::int64_t column) {
  const std::int64_t first = operand.part == Part::lower ? std::min(column, operand.rows) : 0;
  const std::int64_t last = operand.part == Part::upper ? std::min(column + 1, operand.rows) : operand.rows;
  return {first, last};
}

char* element(const Operand& operand, std::int64_t row, std::int64_t column) {
  return static_cast<char*>(operand.address) + static_cast<std::size_t>(column) * operand.stride_bytes() +
         static_cast<std::size_t>(row) * operand.element_size;
}

template <class Real>
bool finite(const void* address, std::size_t bytes) {
  const auto* values = static_cast<const Real*>(address);
  return std::all_of(values, values + bytes / sizeof(Real), [](Real value) { return std::isfinite(value); });
}

bool finite(const Problem& problem, const void* address, std::size_t bytes) {
  return problem.real_bytes() == sizeof(float) ? finite<float>(address, bytes) : finite<double>(address, bytes);
}

/// Does not look at a diagonal of ones: anything may be stored there.
bool finite(const Problem& problem, const Operand& operand) {
  const bool unit = problem.diag == 'u';
  for (std::int64_t j = 0; j < operand.columns; ++j) {
    auto [first, last] = rows_of_part(operand, j);
    if (unit && operand.part == Part::lower) ++first;
    if (unit && operand.part == Part::upper) --last;
    const std::size_t bytes = static_cast<std::size_t>(last - first) * operand.element_size;
    if (!finite(problem, element(operand, first, j), bytes)) return false;
  }
  return true;
}

/// One call of the routine. It holds the memory of the arguments.
class Invocation {
 public:
  Invocation(const Problem& problem, const Operation& operation)
      : problem_(problem), operation_(operation), arguments_(argument_list(problem.routine)) {
    for (const Argument argument : arguments_) place(argument);
    for (std::size_t i = arguments_.size(); i < arguments_.words(); ++i) words_[i] = reinterpret_cast<void*>(1);
  }

  /// Whether the routine succeeded.
  bool run(void* function) {
    if (dangerous()) return false;
    call(function);
    return problem_.belongs_to_matrix() || (info() == 0 && results_finite());
  }

  void return_info() {
    const operation::HostVector& info = operation_.vectors()[vector_index(problem_.routine, Argument::info)];
    std::memcpy(info.address, buffer(Argument::info).data(), problem_.integer_bytes);
  }

  void return_vectors() {
    for (const Argument argument : arguments_) {
      if (!is_vector(argument)) continue;
      const operation::HostVector& vector = operation_.vectors()[vector_index(problem_.routine, argument)];
      const std::size_t bytes = result_bytes(problem_, argument, found());
      if (operation::writes(vector.intent) && bytes > 0) std::memcpy(vector.address, buffer(argument).data(), bytes);
    }
    if (has_eigenvectors_afterwards(problem_)) return_eigenvectors();
    if (problem_.returns_value())
      std::memcpy(operation_.vectors()[value_index(problem_.routine)].address, &value_, problem_.real_bytes());
  }

 private:
  /// Whether the call could do harm. With NaN in the matrix, a range of values contains no eigenvalue.
  bool dangerous() const {
    return (kind_row(problem_).harmed_by_nan || problem_.counts_afterwards()) &&
           !finite(problem_, operand_of(Argument::a));
  }

  std::int64_t& integer(Argument argument) { return integers_[static_cast<std::size_t>(argument)]; }
  std::vector<char>& buffer(Argument argument) { return buffers_[static_cast<std::size_t>(argument)]; }
  void*& word(Argument argument) {
    return words_[static_cast<std::size_t>(std::find(arguments_.begin(), arguments_.end(), argument) -
                                           arguments_.begin())];
  }

  void place(Argument argument) {
    if (is_letter(argument)) {
      char& letter = letters_[static_cast<std::size_t>(argument)];
      letter = letter_of(argument);
      word(argument) = &letter;
    } else if (is_integer(argument)) {
      integer(argument) = integer_of(argument);
      word(argument) = &integer(argument);
    } else if (is_real(argument)) {
      place_real(argument);
    } else if (is_matrix(argument)) {
      place_matrix(argument);
    } else if (is_work(argument)) {
      resize(argument, work_size(argument));
    } else {
      place_vector(argument);
    }
  }

  /// Returns a capital letter: OpenBLAS 0.3.21 refuses a small letter as DIAG of trtrs.
  char letter_of(Argument argument) const { return static_cast<char>(std::toupper(small_letter_of(argument))); }

  char small_letter_of(Argument argument) const {
    switch (argument) {
      case Argument::uplo: return problem_.uplo;
      case Argument::trans: return problem_.trans;
      case Argument::diag: return problem_.diag;
      case Argument::side: return problem_.side;
      case Argument::job: return problem_.job;
      case Argument::job_right: return problem_.job_right;
      default: return problem_.range;
    }
  }

  std::int64_t integer_of(Argument argument) const {
    const auto leading_dimension = [&](Argument matrix) {
      const Operand& operand = operand_of(matrix);
      if (matrix == Argument::z && has_eigenvectors_afterwards(problem_)) return problem_.n;
      return is_destroyed(operand) ? std::max<std::int64_t>(1, operand.rows) : operand.leading_dimension;
    };
    switch (argument) {
      case Argument::itype: return problem_.itype;
      case Argument::m: return problem_.m;
      case Argument::n: return problem_.n;
      case Argument::k:
      case Argument::nrhs: return problem_.k;
      case Argument::il: return problem_.il - rows_above();
      case Argument::iu: return problem_.iu - rows_above();
      case Argument::incx: return problem_.incx;
      case Argument::lda: return leading_dimension(Argument::a);
      case Argument::ldb: return leading_dimension(Argument::b);
      case Argument::ldz: return leading_dimension(Argument::z);
      case Argument::ld_right: return leading_dimension(Argument::right);
      case Argument::lwork: return problem_.lwork;
      case Argument::lrwork: return problem_.lrwork;
      case Argument::liwork: return problem_.liwork;
      default: return 0;
    }
  }

  /// Returns the program's own size of work space, so that the results are the same to the last digit.
  std::int64_t work_size(Argument argument) const {
    const WorkSizes least = kind_row(problem_).work_space(problem_);
    if (argument == Argument::rwork) return arguments_.has(Argument::lrwork) ? problem_.lrwork : least.rwork;
    if (argument == Argument::iwork) return arguments_.has(Argument::liwork) ? problem_.liwork : least.iwork;
    return arguments_.has(Argument::lwork) ? problem_.lwork : least.work;
  }

  void place_real(Argument argument) {
    const double value = argument == Argument::vl      ? problem_.vl
                         : argument == Argument::vu    ? problem_.vu
                         : argument == Argument::rcond ? problem_.rcond()
                                                       : problem_.abstol;
    std::vector<char>& memory = buffer(argument);
    memory.resize(sizeof value);
    const auto narrow = static_cast<float>(value);
    std::memcpy(memory.data(), problem_.real_bytes() == sizeof narrow ? static_cast<const void*>(&narrow) : &value,
                problem_.real_bytes());
    word(argument) = memory.data();
  }

  const Operand& operand_of(Argument matrix) const {
    return operation_.operands()[operand_index(problem_.routine, matrix)];
  }

  /// Whether LAPACK overwrites an operand that is only input, at least for a time.
  bool is_destroyed(const Operand& operand) const {
    return operand.intent == operation::Intent::read && !kind_row(problem_).keeps_input;
  }

  void place_matrix(Argument argument) {
    const Operand& operand = operand_of(argument);
    if (argument == Argument::z && has_eigenvectors_afterwards(problem_))
      return resize(argument, problem_.n * problem_.n);
    word(argument) = operand.address;
    if (!is_destroyed(operand)) return;
    std::vector<char>& copy = buffer(argument);
    copy.resize(operand.payload_bytes() + spare_bytes());
    for (std::int64_t j = 0; j < operand.columns; ++j) {
      const auto [first, last] = rows_of_part(operand, j);
      std::memcpy(copy.data() + static_cast<std::size_t>(j * operand.rows + first) * operand.element_size,
                  element(operand, first, j), static_cast<std::size_t>(last - first) * operand.element_size);
    }
    word(argument) = copy.data();
  }

  /// Gives a vector more room than the program's: with a part of the spectrum, LAPACK may use more elements than it
  /// returns.
  void place_vector(Argument argument) {
    const operation::HostVector& vector = operation_.vectors()[vector_index(problem_.routine, argument)];
    if (exchanges_rows()) return place_pivots(vector);
    if (operation::writes(vector.intent)) {
      resize(argument, 2 * std::max(problem_.m, problem_.n) + 1);
    } else {
      word(argument) = vector.address;
    }
  }

  /// The operand of laswp begins with the first row that is exchanged.
  std::int64_t rows_above() const { return exchanges_rows() ? problem_.k : 0; }
  bool exchanges_rows() const { return kind_row(problem_).family == Family::row_exchange; }

  void place_pivots(const operation::HostVector& given) {
    const auto before = static_cast<std::size_t>(problem_.il - rows_above() - 1);
    const auto count = static_cast<std::size_t>(problem_.iu - problem_.il + 1);
    const std::size_t bytes = problem_.integer_bytes;
    buffer(Argument::ipiv).assign((before + count) * bytes, '\0');
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t row = blas::integer_at(static_cast<const char*>(given.address) + i * bytes, bytes);
      blas::put_integer(buffer(Argument::ipiv).data() + (before + i) * bytes, row - rows_above(), bytes);
    }
    word(Argument::ipiv) = buffer(Argument::ipiv).data();
  }

  /// Copies only the columns that were found: the program's memory may hold no more.
  void return_eigenvectors() {
    const std::size_t column = static_cast<std::size_t>(problem_.n) * problem_.element_bytes();
    const std::size_t stride = static_cast<std::size_t>(problem_.ldz) * problem_.element_bytes();
    char* const first = static_cast<char*>(operation_.vectors()[eigenvectors_index(problem_.routine)].address);
    for (std::size_t j = 0; j < static_cast<std::size_t>(found()); ++j)
      std::memcpy(first + j * stride, buffer(Argument::z).data() + j * column, column);
  }

  std::size_t element_bytes(Argument argument) const {
    constexpr std::size_t largest = 16;
    switch (argument) {
      case Argument::z:
      case Argument::work: return problem_.element_bytes();
      case Argument::rwork: return problem_.real_bytes();
      case Argument::iwork: return problem_.integer_bytes;
      default: return largest;
    }
  }

  /// Extra memory behind each matrix: OpenBLAS 0.3.21 reads columns past the end of a matrix (its issue 4013).
  std::size_t spare_bytes() const {
    constexpr std::int64_t columns = 4;
    return static_cast<std::size_t>(columns * std::max(problem_.m, problem_.n)) * problem_.element_bytes();
  }

  void resize(Argument argument, std::int64_t elements) {
    const std::size_t bytes = static_cast<std::size_t>(std::max<std::int64_t>(1, elements)) * element_bytes(argument);
    buffer(argument).assign(bytes + spare_bytes(), '\0');
    word(argument) = buffer(argument).data();
  }

  void call(void* function) {
    const auto all = std::make_index_sequence<max_words>();
    abi::run_as_original([&] {
      // A function in single precision returns a float, which is the lower half of the register of a double.
      if (problem_.returns_value())
        value_ = invoke<double>(function, words_, all);
      else
        invoke<void>(function, words_, all);
    });
  }

  std::int64_t read_integer(Argument argument) {
    return blas::integer_at(buffer(argument).data(), problem_.integer_bytes);
  }

  std::int64_t info() { return read_integer(Argument::info); }
  std::int64_t found() {
    const bool counted = arguments_.has(Argument::found);
    return counted ? std::clamp<std::int64_t>(read_integer(Argument::found), 0, problem_.n) : problem_.eigenvalues();
  }

  bool results_finite() {
    for (const Operand& operand : operation_.operands())
      if (operation::writes(operand.intent) && !finite(problem_, operand)) return false;
    for (const Argument argument : {Argument::w, Argument::wi, Argument::tau}) {
      if (!arguments_.has(argument)) continue;
      const operation::HostVector& vector = operation_.vectors()[vector_index(problem_.routine, argument)];
      const std::size_t bytes = result_bytes(problem_, argument, found());
      if (operation::writes(vector.intent) && !finite(problem_, buffer(argument).data(), bytes)) return false;
    }
    if (!has_eigenvectors_afterwards(problem_)) return true;
    const auto elements = static_cast<std::size_t>(found() * problem_.n);
    return finite(problem_, buffer(Argument::z).data(), elements * problem_.element_bytes());
  }

  const Problem& problem_;
  const Operation& operation_;
  const ArgumentList& arguments_;
  Words words_{};
  std::array<char, argument_count> letters_{};
  std::array<std::int64_t, argument_count> integers_{};
  std::array<std::vector<char>, argument_count> buffers_;
  double value_ = 0;
};

}  // namespace

bool HostRoutine::can_compute(const Operation& operation) const {
  return function_ != nullptr && is_lapack(operation) && operation.payload<Problem>().routine == routine_;
}

bool HostRoutine::compute(const Operation& operation) const {
  const auto problem = operation.payload<Problem>();
  Invocation invocation(problem, operation);
  if (!invocation.run(function_)) {
    if (is_cholesky(operation)) invocation.return_info();
    return false;
  }
  invocation.return_vectors();
  return true;
}

}  // namespace blastoff::lapack
