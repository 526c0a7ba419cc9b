// Finds the functions of an object that are routines of the front ends, by their names and the other functions of the
// object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "intercept/evidence/library.h"
#include "intercept/routine_table.h"
#include "intercept/symbols/object_file.h"

namespace blastoff::intercept {

/// A front end's routine in an object.
struct BlasFunction {
  std::vector<std::string> names;  ///< all names of this address, beginning with the one to report
  std::string prefix;              ///< prefix of that name: siblings are spelled prefix + routine + suffix in the same
                                   ///< style
  std::string suffix;
  Routine routine;
  abi::Convention convention{};  ///< its integers as far as they are known without a call
  bool certain = false;          ///< `convention` is known to be right; otherwise the library has to be asked
  std::uint64_t address = 0;     ///< address as linked
  std::uint64_t size = 0;        ///< see FunctionSymbol
  std::uint64_t room = 0;
  bool exported = false;  ///< one of its names is exported
  bool indirect = false;
};

/// A function that has a BLAS routine's name but is not treated as BLAS.
struct LeftAlone {
  std::string name;
  std::string rule;  ///< one line that says by which rule

  bool operator==(const LeftAlone& other) const = default;
};

struct BlasFunctions {
  std::vector<BlasFunction> functions;  ///< one for each address
  std::vector<LeftAlone> left_alone;
  Witnesses witnesses{};     ///< by their addresses as linked
  unsigned reals_known = 0;  ///< see Library
  bool changes = false;
};

/// Returns the functions that may be called by a name of the object. This includes the functions of libmkl_rt, which
/// pass calls on to another object. `path`: the object's file. The user may trust it (--trust), and its name may tell
/// of 64-bit integers.
BlasFunctions find_named_functions(const ObjectFile& object, const char* path);

/// Leaves alone those of `named` that may not be patched. `named`: what find_named_functions() returned for the object.
BlasFunctions patchable_functions(BlasFunctions named, const ObjectFile& object);

/// Returns the functions that may be patched.
BlasFunctions find_blas_functions(const ObjectFile& object, const char* path);

/// Makes the Library that answers for the uncertain functions of an object that was loaded at `bias`; nullptr: all are
/// certain. It lives until the process ends.
Library* make_library(const BlasFunctions& found, std::uint64_t bias);

/// Another routine of the same object in the same spelling: its dtrsm_ for its dgemm_; nullptr if it has none.
const BlasFunction* sibling(const BlasFunctions& found, const BlasFunction& function, const Routine& routine);

}  // namespace blastoff::intercept
