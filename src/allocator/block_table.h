// A table of the addresses that are blocks of this library. It is searched at every free() of an aligned pointer, by
// any thread, in signal handlers and on both sides of a fork. So the table has no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace blastoff::allocator {

/// Blocks begin at multiples of this many bytes. Any other pointer is rejected by one test.
inline constexpr std::size_t granule = std::size_t{64} << 10;

inline bool may_be_block(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % granule == 0;
}

/// Maps the address of a block to its size in bytes. The table has one word for each granule of the address space, in
/// leaves for 4 GiB each, which are mapped when first needed and never freed. Each block belongs to one thread at a
/// time (as with any allocator), so accesses need no memory order.
class BlockTable {
 public:
  /// Adds a block. Returns false if there is no memory for the table, or the address is beyond it.
  bool insert(const void* block, std::size_t bytes);

  /// Returns the bytes of the block that begins at `pointer`; 0 if none does.
  std::size_t find(const void* pointer) const;

  /// Removes a block and returns its bytes; 0 if there was none.
  std::size_t remove(const void* pointer);

 private:
  static constexpr int leaf_bits = 32;     ///< addresses in a leaf, as a power of two
  static constexpr int address_bits = 48;  ///< the kernel uses no higher addresses unless asked to
  static constexpr std::size_t leaf_granules = (std::size_t{1} << leaf_bits) / granule;

  using Word = std::atomic<std::size_t>;

  Word* word_of(const void* pointer) const;
  Word* leaf_for(std::uintptr_t address);

  std::array<std::atomic<Word*>, std::size_t{1} << (address_bits - leaf_bits)> leaves_{};
};

}  // namespace blastoff::allocator
