// BLAS libraries whose names all carry a prefix or suffix chosen by their builder.
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

/// The renamings for which the object gives evidence: it names OpenBLAS's own functions in the same way (OpenBLAS's
/// build renames everything that it exports), or it has many routines in both calling styles. A common prefix alone is
/// no evidence: pdgemm_, gsl_blas_dgemm, ATL_dgemm and bli_dgemm take other arguments.
std::vector<Renaming> proven_renamings(const ObjectFile& object, const std::vector<BlasName>& names);

/// The calling convention of a name that follows one of them.
std::optional<KnownSpelling> renamed_spelling(const std::vector<Renaming>& renamings, const BlasName& name);

}  // namespace blastoff::intercept
