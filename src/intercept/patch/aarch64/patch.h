#pragma once

#include "intercept/patch/relocator.h"

namespace blastoff::intercept::patch::aarch64 {

/// See patch_function().
tl::expected<FunctionPatch, Obstacle> patch(const FunctionCode& function, std::uint64_t hook, std::uint64_t trampoline);

/// See relocator.h.
std::vector<JumpPlace> jump_places(const FunctionCode& function);
tl::expected<FunctionPatch, Obstacle> patch_running(const FunctionCode& function, const JumpPlace& place,
                                                    std::uint64_t target, std::uint64_t trampoline);
std::vector<std::byte> undo_and_jump(const JumpPlace& place, std::uint64_t address, std::uint64_t stub);

/// See patch_empty_function().
tl::expected<FunctionPatch, Obstacle> patch_empty(std::span<const std::byte> code, std::uint64_t address,
                                                  std::uint64_t hook);

}  // namespace blastoff::intercept::patch::aarch64
