// Counts the calls of functions that Blastoff does not take, and their time, on request (--count). Such a function is
// patched like those that Blastoff takes. Its hook needs no signature: it passes on the registers and a part of the
// stack.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "intercept/symbols/blas_functions.h"

namespace blastoff::intercept::counted {

enum class Family : std::uint8_t { level1, level2, pblas };

struct Families {
  bool level1 = false, level2 = false, pblas = false;
};

/// Functions of these families are counted in all objects that are searched from now on. `recorded_seconds`: the time
/// of all calls that this thread has recorded and that are not counted here. Its growth during a call was spent in
/// others.
void begin(Families families, double (*recorded_seconds)());

/// Whether any functions are counted.
bool any();

/// Adds the functions of an object that are to be counted, if any are, and are not among `found`. Functions of the
/// vector routines (intercept/vectors) are only counted then, if level 1 is.
void add_functions(const ObjectFile& file, BlasFunctions& found);

struct Routine {
  Family family{};
  std::string_view name;  ///< without decoration: "dcopy"
  std::uint64_t calls = 0;
  double seconds = 0;      ///< wall time, summed over threads
  double own_seconds = 0;  ///< of these, without counted functions and recorded calls inside it
};

/// Returns the routines that were called.
std::vector<Routine> routines();

/// Resets all counts, for the child of a fork.
void reset();

}  // namespace blastoff::intercept::counted
