// Which functions of an object are routines of the front ends, told by their names and by the company they keep.
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
  std::vector<std::string> names;  ///< all names of this address, the one to report first
  std::string prefix;              ///< of the first: siblings are spelled prefix + routine + suffix in the same style
  std::string suffix;
  Routine routine;
  abi::Convention convention{};  ///< its integers as far as is known without a call
  bool certain = false;          ///< that is all there is to know; otherwise the library has to be asked
  std::uint64_t address = 0;     ///< as linked
  std::uint64_t size = 0;        ///< see FunctionSymbol
  std::uint64_t room = 0;
  bool exported = false;  ///< under any of its names
  bool indirect = false;
};

/// A function that has a BLAS routine's name but is not treated as BLAS.
struct LeftAlone {
  std::string name;
  std::string rule;  ///< one line: by which rule

  bool operator==(const LeftAlone& other) const = default;
};

struct BlasFunctions {
  std::vector<BlasFunction> functions;  ///< one for each address
  std::vector<LeftAlone> left_alone;
  Witnesses witnesses{};     ///< by their addresses as linked
  unsigned reals_known = 0;  ///< see Library
  bool changes = false;
};

/// Those that may be patched. `path`: where the object was found, which may be trusted, and tells whether 64-bit
/// integers are to be expected.
BlasFunctions find_blas_functions(const ObjectFile& object, const char* path);

/// Those that may be called by names of the object: also MKL's, which pass calls on to another object.
BlasFunctions find_named_functions(const ObjectFile& object, const char* path);

/// To ask an object that was loaded at `bias` about its uncertain functions; nullptr: there are none. It lives until
/// the process ends.
Library* make_library(const BlasFunctions& found, std::uint64_t bias);

/// Another routine of the same object in the same spelling: its dtrsm_ for its dgemm_; nullptr if it has none.
const BlasFunction* sibling(const BlasFunctions& found, const BlasFunction& function, const Routine& routine);

}  // namespace blastoff::intercept
