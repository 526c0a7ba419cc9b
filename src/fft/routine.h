// The functions of FFTW's interface and of MKL's that are intercepted: one enumerator for each row of the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "fft/routines.def"
#include "fft/transform.h"

namespace blastoff::fft {

enum class Style : std::uint8_t { c, fortran };

enum class Function : std::uint8_t {
  plan,
  execute,      ///< executes a plan on its own arrays
  execute_new,  ///< executes a plan on other arrays
  destroy,
  // DFTI: a plan is called a descriptor.
  commit,           ///< makes a descriptor ready
  compute_forward,  ///< transforms other arrays at each call
  compute_backward,
};

/// How a planner receives the dimensions.
enum class Form : std::uint8_t { one, two, three, any, many, guru, guru64 };

enum class Routine : std::uint8_t {
#define BLASTOFF_ENUMERATOR(name, style, function, kind, precision, form, words) name,
  BLASTOFF_FFT_ROUTINES(BLASTOFF_ENUMERATOR)
#undef BLASTOFF_ENUMERATOR
};

/// One row of the table.
struct RoutineRow {
  const char* name;
  Style style;
  Function function;
  Kind kind;
  Precision precision;
  Form form;
  std::size_t words;
};

inline constexpr RoutineRow routine_table[] = {
#define BLASTOFF_ROW(name, style, function, kind, precision, form, words) \
  {#name, Style::style, Function::function, Kind::kind, Precision::precision, Form::form, words},
    BLASTOFF_FFT_ROUTINES(BLASTOFF_ROW)
#undef BLASTOFF_ROW
};
inline constexpr std::size_t routine_count = std::size(routine_table);

constexpr const RoutineRow& row(Routine routine) {
  return routine_table[static_cast<std::size_t>(routine)];
}

}  // namespace blastoff::fft
