// The transform that a descriptor of DFTI's computes, as MKL itself describes it.
#pragma once

#include <optional>

#include "fft/dfti.h"
#include "fft/transform.h"

namespace blastoff::fft {

struct DftiTransform {
  Transform sizes;                 ///< kind, precision and lengths: what tells its work and its name
  std::optional<Transform> whole;  ///< nothing: no Transform has such a layout
};

/// The transform of a committed descriptor in the direction of `sign`. Nothing if it is not committed, or if MKL does
/// not tell. Takes half a microsecond.
std::optional<DftiTransform> transform_of_descriptor(DftiGetValue* ask, void* descriptor, int sign);

}  // namespace blastoff::fft
