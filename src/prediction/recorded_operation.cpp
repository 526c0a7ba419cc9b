#include "prediction/recorded_operation.h"

#include <charconv>
#include <map>
#include <string_view>

#include "blas/batch.h"
#include "blas/front_end.h"
#include "blas/shape.h"
#include "intercept/front_ends.h"

namespace blastoff::prediction {
namespace {

using blas::Kind;

/// The payload of operations whose payload nobody reads.
struct NoPayload {};

/// The words of "T N m=32 n=2400 k=93536": the letters in order, and the numbers by name.
struct Words {
  std::string letters;
  std::map<std::string_view, std::int64_t> numbers;
  std::int64_t number(std::string_view name) const {
    const auto found = numbers.find(name);
    return found == numbers.end() ? 0 : found->second;
  }
  char letter(std::size_t index) const { return index < letters.size() ? letters[index] : ' '; }
};

Words words_of(std::string_view text) {
  Words words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::size_t sign = word.find('=');
    if (sign == std::string_view::npos) {
      if (word.size() == 1) words.letters += word.front();
      continue;
    }
    std::int64_t value = 0;
    std::from_chars(word.data() + sign + 1, word.data() + word.size(), value);
    words.numbers[word.substr(0, sign)] = value;
  }
  return words;
}

blas::Transpose transpose_of(char letter) {
  return letter == 'T'   ? blas::Transpose::transpose
         : letter == 'C' ? blas::Transpose::conjugate
                         : blas::Transpose::none;
}
blas::Uplo uplo_of(char letter) {
  return letter == 'L' ? blas::Uplo::lower : blas::Uplo::upper;
}
blas::Side side_of(char letter) {
  return letter == 'R' ? blas::Side::right : blas::Side::left;
}

/// Reads the options that blas/front_end.cpp writes.
void set_options(blas::Call& call, const Words& words) {
  switch (call.kind()) {
    case Kind::gemm:
    case Kind::gemm_batch:
    case Kind::gemm_batch_strided:
      call.transpose_a = transpose_of(words.letter(0));
      call.transpose_b = transpose_of(words.letter(1));
      break;
    case Kind::gemmt:
      call.uplo = uplo_of(words.letter(0));
      call.transpose_a = transpose_of(words.letter(1));
      call.transpose_b = transpose_of(words.letter(2));
      break;
    case Kind::symm:
    case Kind::hemm:
      call.side = side_of(words.letter(0));
      call.uplo = uplo_of(words.letter(1));
      break;
    case Kind::syrk:
    case Kind::herk:
    case Kind::syr2k:
    case Kind::her2k:
      call.uplo = uplo_of(words.letter(0));
      call.transpose_a = transpose_of(words.letter(1));
      break;
    case Kind::gemv: call.transpose_a = transpose_of(words.letter(0)); break;
    case Kind::symv:
    case Kind::hemv: call.uplo = uplo_of(words.letter(0)); break;
    case Kind::trmm:
    case Kind::trsm:
    case Kind::trsm_batch:
    case Kind::trsm_batch_strided:
      call.side = side_of(words.letter(0));
      call.uplo = uplo_of(words.letter(1));
      call.transpose_a = transpose_of(words.letter(2));
      call.diagonal = words.letter(3) == 'U' ? blas::Diagonal::unit : blas::Diagonal::non_unit;
      break;
  }
}

std::optional<operation::Operation> blas_operation(const Description& description, blas::Routine routine) {
  blas::Call call;
  call.routine = routine;
  const Words words = words_of(description.arguments);
  set_options(call, words);
  call.m = words.number("m");
  call.n = words.number("n");
  call.k = words.number("k");
  const auto count = static_cast<std::size_t>(blas::operand_count(call.kind()));
  if (description.operands.size() != count) return std::nullopt;
  call.alpha = 1;
  call.beta = operation::reads(description.operands.back().intent) ? 1 : 0;
  std::vector<void*> addresses;
  std::vector<std::int64_t> leading_dimensions;
  for (const operation::Operand& operand : description.operands) {
    addresses.push_back(operand.address);
    leading_dimensions.push_back(operand.leading_dimension);
  }
  blas::shape_operands(call, addresses, leading_dimensions);
  if (blas::is_batch(call.kind())) {
    call.products = words.number("products");
    if (!blas::adopt_stacks(call, description.operands)) return std::nullopt;
  }
  if (!blas::valid(call)) return std::nullopt;
  return call;
}

/// Builds its table once, since it is asked at every call.
std::optional<operation::RoutineId> routine_named(const std::string& name) {
  static const auto& known = *[] {
    auto* const routines = new std::map<std::string, operation::RoutineId>();
    for (std::size_t i = 0; i < operation::routine_count(); ++i) {
      const auto id = static_cast<operation::RoutineId>(i);
      routines->emplace(operation::routine_name(id), id);
    }
    return routines;
  }();
  const auto found = known.find(name);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

const operation::FrontEnd* front_end_of(operation::RoutineId routine) {
  for (const intercept::RoutineTable* table : intercept::front_ends()) {
    const operation::FrontEnd& front_end = table->front_end();
    if (routine >= front_end.first_routine() && routine < front_end.first_routine() + front_end.routine_count())
      return &front_end;
  }
  return nullptr;
}

}  // namespace

std::optional<operation::Operation> operation_of(const Description& description) {
  const auto routine = routine_named(description.routine);
  const operation::FrontEnd* const front_end = routine ? front_end_of(*routine) : nullptr;
  if (front_end == nullptr || description.operands.size() > operation::Operation::max_operands) return std::nullopt;
  if (front_end == &blas::front_end())
    return blas_operation(description, static_cast<blas::Routine>(*routine - front_end->first_routine()));
  operation::Operation result(*front_end, *routine, NoPayload{});
  result.work = description.work;
  result.shape = description.shape;
  result.may_fail = description.may_fail;
  for (const operation::Operand& operand : description.operands) result.add(operand);
  return result;
}

}  // namespace blastoff::prediction
