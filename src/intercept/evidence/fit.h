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
    fits,         ///< it takes all of the arguments, and as what they are
    hands_on,     ///< it calls some function with all of them
    contradicts,  ///< it takes others
  };
  Verdict verdict = Verdict::unknown;
  std::optional<abi::IntegerWidth> integers;  ///< as it reads them; nullopt: the code does not tell
  bool reals = false;                         ///< it computes with real numbers of the routine's size
};

Fit fit(const Signature& signature, const patch::ArgumentUse& use);

/// Whether nothing more is to be learned from the code. (What contradicts may do so only for a while.)
bool settled(const Fit& fit);

}  // namespace blastoff::intercept
