// The code that Relocator::patch writes for a function, in hexadecimal as disassemblers print it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "intercept/patch/relocator.h"

namespace blastoff::intercept::patch {

constexpr std::uint64_t entry = 0x7f00'0000'1000;

/// The addresses of hook and trampoline.
struct Places {
  std::uint64_t hook;
  std::uint64_t trampoline;
};
constexpr Places near{entry + 0x10'0000, entry + 0x20'0000};
constexpr Places far{0x10'0000, 0x20'0000};

/// "55 48 89 e5" as bytes, or as words of four bytes "a9bf7bfd 910003fd": the last byte of a word comes first.
inline std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string word(text.substr(0, end));
    const unsigned long value = std::strtoul(word.c_str(), nullptr, 16);
    for (std::size_t byte = 0; byte < word.size() / 2; ++byte) {
      result.push_back(static_cast<std::byte>(value >> (8 * byte)));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

inline std::string to_hex(std::span<const std::byte> bytes, std::size_t word_size) {
  std::string result;
  for (std::size_t at = 0; at + word_size <= bytes.size(); at += word_size) {
    std::uint32_t word = 0;
    std::memcpy(&word, &bytes[at], word_size);
    result += fmt::format("{}{:0{}x}", at == 0 ? "" : " ", word, 2 * word_size);
  }
  return result;
}

/// A patch, or the obstacle that prevents it.
struct Patched {
  std::size_t offset = 0;
  std::string jump;
  std::string trampoline;
  std::string obstacle;
};

inline std::ostream& operator<<(std::ostream& out, const Patched& patched) {
  return out << "offset " << patched.offset << "\njump " << patched.jump << "\ntrampoline " << patched.trampoline
             << "\nobstacle " << patched.obstacle;
}

inline bool operator==(const Patched& left, const Patched& right) {
  return left.offset == right.offset && left.jump == right.jump && left.trampoline == right.trampoline &&
         left.obstacle == right.obstacle;
}

/// Patches the function `code` at `entry`, which `padding` follows. `others`: further functions of its object behind
/// that; empty: its object is not known.
inline Patched patch(Architecture architecture, std::string_view code, std::string_view padding, const Places& places,
                     std::string_view others = "") {
  std::vector<std::byte> memory = from_hex(code);
  const std::size_t size = memory.size();
  const std::vector<std::byte> behind = from_hex(padding);
  memory.insert(memory.end(), behind.begin(), behind.end());
  const std::vector<std::byte> others_code = from_hex(others);
  memory.insert(memory.end(), others_code.begin(), others_code.end());
  FunctionCode function{std::span(memory).first(size), behind.size(), entry};
  if (!others.empty()) function.object = {memory, entry};
  const auto patch = relocator(architecture).patch(function, places.hook, places.trampoline);
  if (!patch) return {0, "", "", to_string(patch.error())};
  if (patch->trampoline.size() > longest_trampoline) return {0, "", "", "a trampoline that is too long"};
  const std::size_t word = architecture == Architecture::aarch64 ? 4 : 1;
  return {patch->offset, to_hex(patch->jump, word), to_hex(patch->trampoline, word), ""};
}

inline Patched refused(std::string_view obstacle) {
  return {0, "", "", std::string(obstacle)};
}

}  // namespace blastoff::intercept::patch
