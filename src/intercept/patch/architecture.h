// The processor architecture of this build.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>

#include "intercept/patch/relocator.h"

namespace blastoff::intercept::patch {

#if defined(__x86_64__)
inline constexpr Architecture native = Architecture::x86_64;
inline constexpr std::uint16_t native_machine = EM_X86_64;
/// How far a short jump reaches, with some slack.
inline constexpr std::uint64_t native_short_reach = 0x7fff0000;
inline constexpr std::size_t smallest_instruction = 1;
#elif defined(__aarch64__)
inline constexpr Architecture native = Architecture::aarch64;
inline constexpr std::uint16_t native_machine = EM_AARCH64;
inline constexpr std::uint64_t native_short_reach = 0x7ff0000;
inline constexpr std::size_t smallest_instruction = 4;
#else
#error "unknown architecture: how are functions patched?"
#endif

}  // namespace blastoff::intercept::patch
