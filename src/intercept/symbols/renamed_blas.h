// Recognises BLAS libraries whose builder has added a prefix or suffix to all names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "intercept/symbols/blas_name.h"
#include "intercept/symbols/object_file.h"

namespace blastoff::intercept {

/// prefix + "dgemm_" + suffix and prefix + "cblas_dgemm" + suffix.
struct Renaming {
  std::string prefix;
  std::string suffix;
};

/// Returns the renamings for which the object gives evidence. Evidence is: OpenBLAS's own functions have the same
/// prefix and suffix (OpenBLAS's build renames everything that it exports), or the object has many routines in both
/// calling styles. A common prefix alone is no evidence: pdgemm_, gsl_blas_dgemm, ATL_dgemm and bli_dgemm take other
/// arguments.
std::vector<Renaming> proven_renamings(const ObjectFile& object, const std::vector<BlasName>& names);

/// Returns the calling convention of a name that follows one of the renamings.
std::optional<KnownSpelling> renamed_spelling(const std::vector<Renaming>& renamings, const BlasName& name);

}  // namespace blastoff::intercept
