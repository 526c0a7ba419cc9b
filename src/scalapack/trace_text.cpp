#include "scalapack/trace_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace blastoff::scalapack {
namespace {

using Text = std::back_insert_iterator<std::string>;

/// nullptr: not one of the sizes that tell how large a call is.
const char* name_of(Argument size) {
  switch (size) {
    case Argument::itype: return "itype";
    case Argument::m: return "m";
    case Argument::n: return "n";
    case Argument::k: return "k";
    case Argument::nrhs: return "nrhs";
    default: return nullptr;
  }
}

/// This process's part of the rows or columns, which follow each other in its memory.
struct OwnRun {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

OwnRun own_run(const Axis& axis) {
  OwnRun all;
  axis.each_own_run([&](std::int64_t, std::int64_t own, std::int64_t count) {
    if (all.count == 0) all.begin = own;
    all.count += count;
  });
  return all;
}

operation::Operand own_operand(const DistributedMatrix& matrix, const Grid& grid) {
  const OwnRun rows = own_run(matrix.row_axis(grid));
  const OwnRun columns = own_run(matrix.column_axis(grid));
  const std::int64_t leading = matrix.layout.leading_dimension;
  const auto first = static_cast<std::size_t>(rows.begin + columns.begin * leading);
  return {.address = matrix.address + first * matrix.element_bytes,
          .rows = rows.count,
          .columns = columns.count,
          .leading_dimension = leading,
          .element_size = matrix.element_bytes,
          .intent = matrix.intent};
}

/// JSON has no infinity.
double finite(double number) {
  constexpr double most = std::numeric_limits<double>::max();
  return std::isnan(number) ? 0 : std::clamp(number, -most, most);
}

/// A list of the real part and, for a complex number, the imaginary one.
void write_number(Text text, const Call& call, Argument argument) {
  const std::size_t reals = call.coefficient_bytes(argument) / call.real_bytes();
  const void* const word = call.word(argument);
  fmt::format_to(text, "[");
  for (std::size_t i = 0; i < reals; ++i)
    fmt::format_to(text, "{}{}", i == 0 ? "" : ",",
                   finite(call.real_bytes() == sizeof(float) ? static_cast<double>(static_cast<const float*>(word)[i])
                                                             : static_cast<const double*>(word)[i]));
  fmt::format_to(text, "]");
}

/// Address, row and column of the sub-matrix, and the descriptor's integers.
void write_matrix(Text text, const Call& call, Argument argument) {
  const auto* const descriptor = static_cast<const int*>(call.descriptor(argument));
  const std::size_t length = *descriptor == LongDescriptor::dense ? sizeof(LongDescriptor) : sizeof(Descriptor);
  fmt::format_to(text, "[{},{},{}", reinterpret_cast<std::uintptr_t>(call.word(argument)), call.place(argument).row,
                 call.place(argument).column);
  for (std::size_t i = 0; i < length / sizeof(int); ++i) fmt::format_to(text, ",{}", descriptor[i]);
  fmt::format_to(text, "]");
}

void write_word(Text text, const Call& call, Argument argument) {
  if (is_letter(argument))
    fmt::format_to(text, "\"{}\"", call.letter(argument));
  else if (is_integer(argument))
    fmt::format_to(text, "{}", call.is_common(argument) ? call.integer(argument) : 0);
  else if (is_number(argument) && call.is_common(argument))
    write_number(text, call, argument);
  else if (is_matrix(argument) && call.uses(argument))
    write_matrix(text, call, argument);
  else
    fmt::format_to(text, "null");
}

}  // namespace

operation::Operation own_part(const Call& call, const Grid& grid) {
  const auto routine = static_cast<operation::RoutineId>(scalapack().first_routine() +
                                                         static_cast<operation::RoutineId>(call.routine()));
  operation::Operation part(scalapack(), routine, &call);
  for (const MatrixRule& rule : call.rules())
    if (call.uses(rule.matrix)) part.add(own_operand(call.matrix(rule), grid));
  return part;
}

std::string call_text(const Call& call) {
  std::string text;
  for (const Argument argument : call.arguments()) {
    if (is_letter(argument))
      fmt::format_to(Text(text), "{} ", static_cast<char>(call.letter(argument) & ~0x20));
    else if (const char* const name = name_of(argument))
      fmt::format_to(Text(text), "{}={} ", name, call.integer(argument));
  }
  const LongDescriptor layout = layout_of(call.descriptor(call.rules()[0].matrix));
  fmt::format_to(Text(text), "blocks={}x{}", layout.row_block, layout.column_block);
  return text;
}

std::string trace_text(const Call& call, const Grid& grid) {
  std::string text;
  fmt::format_to(Text(text), "{{\"call\":{}", call.fingerprint());
  if (call.failed()) fmt::format_to(Text(text), ",\"failed\":1");
  if (grid.is_root()) {
    fmt::format_to(Text(text), ",\"grid\":[{},{}],\"words\":[", grid.rows, grid.columns);
    const char* separator = "";
    for (const Argument argument : call.arguments()) {
      text += separator;
      write_word(Text(text), call, argument);
      separator = ",";
    }
    text += ']';
  }
  return text + '}';
}

}  // namespace blastoff::scalapack
