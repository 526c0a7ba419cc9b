#include "intercept/patch/relocator.h"

#include "intercept/patch/aarch64/patch.h"
#include "intercept/patch/x86_64/patch.h"

namespace blastoff::intercept::patch {

tl::expected<FunctionPatch, Obstacle> patch_function(Architecture architecture, const FunctionCode& function,
                                                     std::uint64_t hook, std::uint64_t trampoline) {
  return architecture == Architecture::x86_64 ? x86_64::patch(function, hook, trampoline)
                                              : aarch64::patch(function, hook, trampoline);
}

std::vector<JumpPlace> jump_places(Architecture architecture, const FunctionCode& function) {
  return architecture == Architecture::x86_64 ? x86_64::jump_places(function) : aarch64::jump_places(function);
}

tl::expected<FunctionPatch, Obstacle> patch_running_function(Architecture architecture, const FunctionCode& function,
                                                             const JumpPlace& place, std::uint64_t target,
                                                             std::uint64_t trampoline) {
  return architecture == Architecture::x86_64 ? x86_64::patch_running(function, place, target, trampoline)
                                              : aarch64::patch_running(function, place, target, trampoline);
}

std::vector<std::byte> undo_and_jump(Architecture architecture, const JumpPlace& place, std::uint64_t address,
                                     std::uint64_t stub) {
  return architecture == Architecture::x86_64 ? x86_64::undo_and_jump(place, address, stub)
                                              : aarch64::undo_and_jump(place, address, stub);
}

tl::expected<FunctionPatch, Obstacle> patch_empty_function(Architecture architecture, std::span<const std::byte> code,
                                                           std::uint64_t address, std::uint64_t hook) {
  return architecture == Architecture::x86_64 ? x86_64::patch_empty(code, address, hook)
                                              : aarch64::patch_empty(code, address, hook);
}

}  // namespace blastoff::intercept::patch
