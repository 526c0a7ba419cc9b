// Whether a function's code treats its arguments as a routine would.
#pragma once

#include <optional>

#include "abi/convention.h"
#include "intercept/evidence/role.h"
#include "intercept/patch/argument_use.h"

namespace blastoff::intercept {

struct Fit {
  enum class Verdict : std::uint8_t {
    unknown,      ///< the code does not tell
    fits,         ///< it uses all of the arguments, and as the routine would
    hands_on,     ///< it calls some function with all of the arguments
    contradicts,  ///< it uses arguments otherwise than the routine would
  };
  Verdict verdict = Verdict::unknown;
  std::optional<abi::IntegerWidth> integers;  ///< their width as the code reads them; nullopt: the code does not tell
  bool reals = false;                         ///< it computes with real numbers of the routine's size
};

Fit fit(const Signature& signature, const patch::ArgumentUse& use);

/// Whether reading more code cannot change the result. (A contradiction may disappear when more code has been read.)
bool settled(const Fit& fit);

}  // namespace blastoff::intercept
