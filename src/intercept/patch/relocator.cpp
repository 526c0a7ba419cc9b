#include "intercept/patch/relocator.h"

#include "intercept/patch/aarch64/patch.h"
#include "intercept/patch/x86_64/patch.h"

namespace blastoff::intercept::patch {

tl::expected<FunctionPatch, Obstacle> patch_function(Architecture architecture, const FunctionCode& function,
                                                     std::uint64_t hook, std::uint64_t trampoline) {
  return architecture == Architecture::x86_64 ? x86_64::patch(function, hook, trampoline)
                                              : aarch64::patch(function, hook, trampoline);
}

tl::expected<FunctionPatch, Obstacle> patch_empty_function(Architecture architecture, std::span<const std::byte> code,
                                                           std::uint64_t address, std::uint64_t hook) {
  return architecture == Architecture::x86_64 ? x86_64::patch_empty(code, address, hook)
                                              : aarch64::patch_empty(code, address, hook);
}

}  // namespace blastoff::intercept::patch
