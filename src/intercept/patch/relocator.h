// Replaces the first instructions of a function by a jump. It turns bytes into bytes, for either architecture on
// either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tl/expected.hpp>

#include "intercept/patch/obstacle.h"

namespace blastoff::intercept::patch {

enum class Architecture : std::uint8_t { x86_64, aarch64 };

/// A function as the compiler left it.
struct FunctionCode {
  std::span<const std::byte> bytes;  ///< from its entry to its last instruction
  std::size_t padding = 0;           ///< bytes that follow `bytes` in the same span's memory, up to the next function
  std::uint64_t address = 0;         ///< where the process runs it
};

/// What has to be written, and where.
struct FunctionPatch {
  std::size_t offset = 0;             ///< of the jump from the entry: behind an endbr64 or bti, which stays
  std::vector<std::byte> jump;        ///< replaces the bytes at address + offset
  std::vector<std::byte> trampoline;  ///< the replaced instructions, rewritten for their new place, and the way back
};

/// The longest trampoline that patch_function() makes.
inline constexpr std::size_t longest_trampoline = 160;

/// A patch with which `function` jumps to `hook`, and its first instructions run at `trampoline`. Uses the short jump
/// if `hook` is near enough. The trampoline continues in the function, so a call of the trampoline acts like a call of
/// the unpatched function.
tl::expected<FunctionPatch, Obstacle> patch_function(Architecture architecture, const FunctionCode& function,
                                                     std::uint64_t hook, std::uint64_t trampoline);

/// A place for a jump in a function that other threads may be running: bytes of one instruction change, and a thread
/// that stands between any two finds all others as they were.
struct JumpPlace {
  std::size_t offset = 0;          ///< of the instruction
  std::vector<std::byte> undo;     ///< code that takes back what the instructions before it have done
  std::uint64_t first_target = 0;  ///< the jump leads to an address from this one ...
  std::uint64_t last_target = 0;   ///< ... to this one, both included: some of its bytes are the function's own
};

/// The longest JumpPlace::undo.
inline constexpr std::size_t longest_undo = 16;

/// All places, the first instruction's first. What stands before is pushes of registers, or signs the return address.
std::vector<JumpPlace> jump_places(Architecture architecture, const FunctionCode& function);

/// As patch_function(), with a jump at one of these places to `target`, where code undoes and then does what a hook
/// does. FunctionPatch::jump is only the bytes that change. They lie in one word of eight bytes.
tl::expected<FunctionPatch, Obstacle> patch_running_function(Architecture architecture, const FunctionCode& function,
                                                             const JumpPlace& place, std::uint64_t target,
                                                             std::uint64_t trampoline);

/// Code at `address` that undoes and goes on to `stub`.
std::vector<std::byte> undo_and_jump(Architecture architecture, const JumpPlace& place, std::uint64_t address,
                                     std::uint64_t stub);

/// The longest code that undo_and_jump() makes.
inline constexpr std::size_t longest_undo_and_jump = 32;

/// More than a function that does nothing, and a jump in its place, take with the padding behind it.
inline constexpr std::size_t room_of_empty_function = 16;

/// A patch with which a function that only returns jumps to `hook`, which returns in its place. There is no trampoline.
/// `code` is its first room_of_empty_function bytes. too_short where it is another function, or `hook` is too far.
tl::expected<FunctionPatch, Obstacle> patch_empty_function(Architecture architecture, std::span<const std::byte> code,
                                                           std::uint64_t address, std::uint64_t hook);

}  // namespace blastoff::intercept::patch
