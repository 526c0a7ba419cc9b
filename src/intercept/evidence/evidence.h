// Evidence that an object's functions are the routines that their names say. A name alone is not evidence: programs
// have functions of their own with the name of a routine and other arguments, and compiler options widen integers and
// real numbers.
//
// Evidence is: the object is a known library, or has a whole family of routines, and the code of the function does not
// contradict that. The code alone is enough if it uses all of the arguments as the routine would. Both the search for
// exported names and the patcher use this evidence.
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

/// Names of functions and files that the user trusts to be what their names say (--trust), separated by commas.
void set_trusted(std::string_view names);
bool is_trusted(std::string_view name);

/// The rule by which a function is left alone of which nothing but its name is known.
inline constexpr const char* nothing_shows = "nothing shows that it is the routine of that name (--trust)";

/// The rule by which a function is left alone whose code shows other arguments.
inline constexpr std::string_view other_arguments = "takes other arguments than the routine of that name";

/// The rule by which a wrapper is left alone. The function that it calls is the routine and is intercepted instead; its
/// arguments are known, those of the wrapper are not.
inline constexpr std::string_view hands_on_rule = "hands its calls on to a function of another object";

/// The rule by which functions of MKL's DFTI are left alone where nothing tells what their descriptors compute.
inline constexpr const char* nobody_tells = "its object has no DftiGetValue, which would tell what it computes";

/// The names of one function.
using Names = std::span<const SpelledFunction>;

struct Judgement {
  const char* rule = nullptr;                   ///< why the function is left alone; nullptr: it is the routine
  std::optional<abi::IntegerWidth> integers{};  ///< the width of its integers, as its name or code shows it
  bool wide_by_name = false;
  bool reals = false;      ///< its real numbers are known to have the usual size
  bool trusted = false;    ///< the user trusts it (--trust)
  bool by_family = false;  ///< nothing shows it but the names of its family
};

class Evidence {
 public:
  /// `all` must outlive this object. `trusted`: the user trusts the whole object.
  Evidence(const ObjectFile& object, const std::vector<SpelledFunction>& all, bool trusted);

  /// `size`: bytes of the function's code.
  Judgement judge(Names names, std::uint64_t size) const;

  /// Returns the witnesses, by their addresses as linked. `routines`: the functions of the object, in any spelling,
  /// that were judged to be routines.
  Witnesses witnesses(const std::vector<SpelledFunction>& routines) const;

 private:
  bool has_family(const SpelledFunction& function) const;
  bool defines_one_of(std::span<const std::string_view> names) const;
  /// Whether the object exports all of what the routine belongs to, so that it is nobody's own function.
  bool is_of_whole(const RoutineTable& table) const;
  Fit fit_of(const Signature& signature, std::uint64_t address, std::uint64_t size) const;
  /// Adds idamax_ and its like, if the object has them with the same prefix and suffix as `like`.
  void add_largest(const SpelledFunction& like, bool exported, Witnesses& found) const;
  bool fits_as_largest(std::uint64_t address, abi::Style style, blas::Scalar scalar) const;

  const ObjectFile& object_;
  const std::vector<SpelledFunction>& all_;
  const bool trusted_;
  bool marked_ = false;                        ///< it has functions that only one known library has
  ExportedFamilies whole_;                     ///< what a shared object exports as a whole
  std::vector<const RoutineTable*> lacking_;   ///< tables of which it has functions, but nothing that is needed beside
  std::vector<std::string_view> not_told_by_;  ///< functions that would tell what others compute, and that it lacks
  bool has_xerbla_ = false;  ///< it names BLAS's function for invalid arguments; not looked up if marked_
};

}  // namespace blastoff::intercept
