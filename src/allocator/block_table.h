// Which addresses are blocks of this library? Asked at every free() of an aligned pointer, by any thread, in signal
// handlers and on both sides of a fork: so the table has no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace blastoff::allocator {

/// Blocks begin at multiples of this. Any other pointer is rejected by one test.
inline constexpr std::size_t granule = std::size_t{64} << 10;

inline bool may_be_block(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % granule == 0;
}

/// Maps a block to its bytes. One word for each granule of the address space, in leaves of 4 GiB that are mapped when
/// first needed and never freed. Each block belongs to one thread at a time (as with any allocator), so accesses need
/// no memory order.
class BlockTable {
 public:
  /// Adds the block. False if there is no memory for that, or the address is beyond the table.
  bool insert(const void* block, std::size_t bytes);

  /// Bytes of the block that begins there; 0 if none does.
  std::size_t find(const void* pointer) const;

  /// Forgets the block and returns its bytes; 0 if there was none.
  std::size_t remove(const void* pointer);

 private:
  static constexpr int leaf_bits = 32;     ///< bytes of addresses in a leaf, as a power of two
  static constexpr int address_bits = 48;  ///< the kernel uses no more unless asked to
  static constexpr std::size_t leaf_granules = (std::size_t{1} << leaf_bits) / granule;

  using Word = std::atomic<std::size_t>;

  Word* word_of(const void* pointer) const;
  Word* leaf_for(std::uintptr_t address);

  std::array<std::atomic<Word*>, std::size_t{1} << (address_bits - leaf_bits)> leaves_{};
};

}  // namespace blastoff::allocator
