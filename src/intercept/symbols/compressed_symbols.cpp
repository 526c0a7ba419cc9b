#include "intercept/symbols/compressed_symbols.h"

#include <lzma.h>

#include <algorithm>
#include <cstdint>

namespace blastoff::intercept {
namespace {

constexpr std::size_t max_symbols = 64 << 20;
constexpr std::uint64_t max_memory = 64 << 20;  // of the decoder: xz -9 takes 65 MB. Distributions use xz -6 (9 MB)

}  // namespace

std::vector<std::byte> decompress_symbols(std::span<const std::byte> compressed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, max_memory, 0) != LZMA_OK) return {};
  stream.next_in = reinterpret_cast<const std::uint8_t*>(compressed.data());
  stream.avail_in = compressed.size();
  std::vector<std::byte> symbols(std::min(max_symbols, compressed.size() * 4));
  lzma_ret state = LZMA_OK;
  while (state == LZMA_OK) {
    if (stream.total_out == symbols.size()) {
      if (symbols.size() == max_symbols) break;
      symbols.resize(std::min(max_symbols, symbols.size() * 2));
    }
    stream.next_out = reinterpret_cast<std::uint8_t*>(symbols.data()) + stream.total_out;
    stream.avail_out = symbols.size() - stream.total_out;
    state = lzma_code(&stream, LZMA_FINISH);
  }
  symbols.resize(state == LZMA_STREAM_END ? stream.total_out : 0);
  lzma_end(&stream);
  return symbols;
}

}  // namespace blastoff::intercept
