// Replaces the first instructions of a function by a jump. It only turns bytes into bytes, so each architecture can be
// tested on the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include <tl/expected.hpp>

#include "intercept/patch/obstacle.h"

namespace blastoff::intercept::patch {

enum class Architecture : std::uint8_t { x86_64, aarch64 };

/// A piece of an object's code.
struct CodeRange {
  std::span<const std::byte> bytes;
  std::uint64_t address = 0;
};

/// For addresses of one object's code: whether the code there calls other objects.
using CallsOfOthers = std::unordered_map<std::uint64_t, bool>;

/// A function as the compiler left it.
struct FunctionCode {
  std::span<const std::byte> bytes;  ///< from its entry through its last instruction
  std::size_t padding = 0;           ///< number of bytes behind `bytes`, in the same memory, up to the next function
  std::uint64_t address = 0;         ///< its address in the process
  CodeRange object{};                ///< the code of its object, at addresses of the process
  bool may_be_leaf = false;          ///< no function of its source file calls it (Obstacle::leaf)
  CallsOfOthers* known = nullptr;    ///< what has been found out about its object; null: nothing is kept
};

/// The bytes to be written for a patch.
struct FunctionPatch {
  std::size_t offset = 0;             ///< of the jump, from the entry: behind an endbr64 or bti, which stays
  std::vector<std::byte> jump;        ///< replaces the bytes at address + offset
  std::vector<std::byte> trampoline;  ///< the replaced instructions, rewritten for their new place, and a jump back
};

/// The longest trampoline that Relocator::patch makes.
inline constexpr std::size_t longest_trampoline = 160;

/// A place for a jump in a function that other threads may be running. Only bytes of one instruction change, so a
/// thread that stands between two instructions finds all other instructions unchanged.
struct JumpPlace {
  std::size_t offset = 0;          ///< of the instruction
  std::vector<std::byte> undo;     ///< code that reverses the instructions before the jump
  std::uint64_t first_target = 0;  ///< the jump can lead to addresses from this one ...
  std::uint64_t last_target = 0;   ///< ... to this one, both included. The range is limited because the jump keeps some
                                   ///< bytes of the function
};

/// The longest JumpPlace::undo.
inline constexpr std::size_t longest_undo = 16;

/// The longest code that Relocator::undo_and_jump makes.
inline constexpr std::size_t longest_undo_and_jump = 32;

/// More bytes than an empty function and a jump in its place take, with the padding behind the function.
inline constexpr std::size_t room_of_empty_function = 16;

/// Patches functions of one architecture.
struct Relocator {
  /// Makes a patch with which `function` jumps to `hook`, and its first instructions run at `trampoline`. Uses the
  /// short jump if `hook` is near enough. The trampoline continues in the function, so a call of the trampoline acts
  /// like a call of the unpatched function.
  tl::expected<FunctionPatch, Obstacle> (*patch)(const FunctionCode& function, std::uint64_t hook,
                                                 std::uint64_t trampoline);

  /// Returns all places, beginning with the first instruction. The instructions before a place only push registers, or
  /// sign the return address.
  std::vector<JumpPlace> (*jump_places)(const FunctionCode& function);

  /// Like patch(), but the jump stands at one of these places and leads to `target`. The code there reverses the
  /// instructions before the jump and then jumps to the stub. FunctionPatch::jump holds only the bytes that change.
  /// They lie in one word of eight bytes.
  tl::expected<FunctionPatch, Obstacle> (*patch_running)(const FunctionCode& function, const JumpPlace& place,
                                                         std::uint64_t target, std::uint64_t trampoline);

  /// Returns code for `address` that reverses the instructions before the jump, then jumps to `stub`.
  std::vector<std::byte> (*undo_and_jump)(const JumpPlace& place, std::uint64_t address, std::uint64_t stub);

  /// Makes a patch with which a function that only returns jumps to `hook`, which returns in its place. There is no
  /// trampoline. `code`: the first room_of_empty_function bytes of the function, which begins at `address`. The error
  /// is too_short if the function is not empty, or `hook` is too far.
  tl::expected<FunctionPatch, Obstacle> (*patch_empty)(std::span<const std::byte> code, std::uint64_t address,
                                                       std::uint64_t hook);
};

namespace x86_64 {
extern const Relocator relocator;
}
namespace aarch64 {
extern const Relocator relocator;
}

inline const Relocator& relocator(Architecture architecture) {
  return architecture == Architecture::x86_64 ? x86_64::relocator : aarch64::relocator;
}

}  // namespace blastoff::intercept::patch
