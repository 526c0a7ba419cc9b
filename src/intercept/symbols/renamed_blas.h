// BLAS libraries all of whose names carry a prefix or a suffix of their builder's choice.
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

/// The renamings of which an object gives proof: it names OpenBLAS's own functions in the same way (OpenBLAS's build
/// renames all that it exports), or it has many routines in both calling styles. A prefix over all of BLAS is no proof
/// by itself: pdgemm_, gsl_blas_dgemm, ATL_dgemm and bli_dgemm take other arguments.
std::vector<Renaming> proven_renamings(const ObjectFile& object, const std::vector<BlasName>& names);

/// How a name is called that follows one of them.
std::optional<KnownSpelling> renamed_spelling(const std::vector<Renaming>& renamings, const BlasName& name);

}  // namespace blastoff::intercept
