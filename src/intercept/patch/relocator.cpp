#include "intercept/patch/relocator.h"

#include "intercept/patch/aarch64/patch.h"
#include "intercept/patch/x86_64/patch.h"

namespace blastoff::intercept::patch {

tl::expected<FunctionPatch, Obstacle> patch_function(Architecture architecture, const FunctionCode& function,
                                                     std::uint64_t hook, std::uint64_t trampoline) {
  return architecture == Architecture::x86_64 ? x86_64::patch(function, hook, trampoline)
                                              : aarch64::patch(function, hook, trampoline);
}

}  // namespace blastoff::intercept::patch
