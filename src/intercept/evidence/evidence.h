// Evidence that an object's functions are the routines of their names. A name is none: programs have functions of their
// own that are called like routines and take other arguments, and compilers widen integers and real numbers at wish.
//
// What counts: the object is a known library, or has a whole family of routines; and the function's code, which must
// not contradict, and which alone convinces where it takes all of the arguments as what they are. Whoever asks for a
// function by its exported name and whoever patches it ask here.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "intercept/evidence/fit.h"
#include "intercept/evidence/library.h"
#include "intercept/symbols/object_file.h"
#include "intercept/symbols/spelled_functions.h"

namespace blastoff::intercept {

/// Functions and files, by name, that are taken for what their names say (--trust): separated by commas.
void set_trusted(std::string_view names);
bool is_trusted(std::string_view name);

/// The rule by which a wrapper is left alone: what it calls is the routine, whose arguments are its own.
inline constexpr std::string_view hands_on_rule = "hands its calls on to a function of another object";

/// The names of one function.
using Names = std::span<const SpelledFunction>;

struct Judgement {
  const char* rule = nullptr;                   ///< why the function is left alone; nullptr: it is the routine
  std::optional<abi::IntegerWidth> integers{};  ///< as its name or its code shows them
  bool wide_by_name = false;
  bool reals = false;    ///< it is known to take real numbers of the usual size
  bool trusted = false;  ///< the user says so
};

class Evidence {
 public:
  /// `all` outlives this. `trusted`: the whole object is.
  Evidence(const ObjectFile& object, const std::vector<SpelledFunction>& all, bool trusted);

  /// `size`: of its code, in bytes.
  Judgement judge(Names names, std::uint64_t size) const;

  /// By their addresses as linked. Functions of the object, of whatever spelling, that were judged to be routines.
  Witnesses witnesses(const std::vector<SpelledFunction>& routines) const;

 private:
  bool has_family(const SpelledFunction& function) const;
  Fit fit_of(const Signature& signature, std::uint64_t address, std::uint64_t size) const;
  /// Adds those of idamax_ and its like that are spelled like a routine.
  void add_largest(const SpelledFunction& like, Witnesses& found) const;
  bool fits_as_largest(std::uint64_t address, abi::Style style, blas::Scalar scalar) const;

  const ObjectFile& object_;
  const std::vector<SpelledFunction>& all_;
  const bool trusted_;
  bool marked_ = false;  ///< it has functions that only a certain library has
  bool whole_ = false;   ///< it is a library and nothing else: nobody's own function is among its routines
};

}  // namespace blastoff::intercept
