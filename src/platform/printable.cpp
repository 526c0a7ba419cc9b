#include "platform/printable.h"

#include <cstdint>

namespace blastoff::platform {

namespace {

struct Character {
  std::uint32_t code;
  std::size_t bytes;  ///< 0: these bytes are no character
};

/// Decodes the first character. Well-formed bytes: Unicode 15, table 3-7.
Character first_character(const unsigned char* text, std::size_t bytes) {
  const unsigned char lead = text[0];
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                             : lead >= 0xe0 && lead < 0xf0 ? 3
                             : lead >= 0xf0 && lead < 0xf5 ? 4
                                                           : 0;
  if (length == 0 || length > bytes) return {0, 0};
  const unsigned least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (text[1] < least || text[1] > most) return {0, 0};
  std::uint32_t code = lead & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((text[i] & 0xc0U) != 0x80) return {0, 0};
    code = code << 6U | (text[i] & 0x3fU);
  }
  return {code, length};
}

bool is_plain(std::uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
  const bool direction = code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                         (code >= 0x2066 && code <= 0x2069);
  return !control && !direction;
}

}  // namespace

std::size_t make_printable(char* text, std::size_t bytes) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < bytes;) {
    const Character next = first_character(reinterpret_cast<const unsigned char*>(text) + i, bytes - i);
    if (next.bytes == 0 || !is_plain(next.code)) {
      text[end++] = '?';
      i += next.bytes == 0 ? 1 : next.bytes;
      continue;
    }
    for (std::size_t k = 0; k < next.bytes; ++k) text[end++] = text[i++];
  }
  return end;
}

}  // namespace blastoff::platform
