#pragma once

#include "intercept/patch/relocator.h"

namespace blastoff::intercept::patch::aarch64 {

/// See patch_function().
tl::expected<FunctionPatch, Obstacle> patch(const FunctionCode& function, std::uint64_t hook, std::uint64_t trampoline);

}  // namespace blastoff::intercept::patch::aarch64
