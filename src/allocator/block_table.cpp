#include "allocator/block_table.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace blastoff::allocator {

namespace {

std::uintptr_t address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace

bool BlockTable::insert(const void* block, std::size_t bytes) {
  if (address_of(block) >> address_bits != 0 || leaf_for(address_of(block)) == nullptr) return false;
  word_of(block)->store(bytes, std::memory_order_relaxed);
  return true;
}

std::size_t BlockTable::find(const void* pointer) const {
  const Word* const word = word_of(pointer);
  return word == nullptr ? 0 : word->load(std::memory_order_relaxed);
}

std::size_t BlockTable::remove(const void* pointer) {
  Word* const word = word_of(pointer);
  if (word == nullptr || word->load(std::memory_order_relaxed) == 0) return 0;
  return word->exchange(0, std::memory_order_relaxed);
}

BlockTable::Word* BlockTable::word_of(const void* pointer) const {
  const std::uintptr_t address = address_of(pointer);
  if (!may_be_block(pointer) || address >> address_bits != 0) return nullptr;
  Word* const leaf = leaves_[address >> leaf_bits].load(std::memory_order_acquire);
  return leaf == nullptr ? nullptr : leaf + address / granule % leaf_granules;
}

/// Returns the leaf for an address, and maps it if it is not there yet. Fresh pages hold zeros, which mean: no block.
/// Only pages of a leaf that are written take memory.
BlockTable::Word* BlockTable::leaf_for(std::uintptr_t address) {
  std::atomic<Word*>& slot = leaves_[address >> leaf_bits];
  if (Word* const leaf = slot.load(std::memory_order_acquire)) return leaf;
  constexpr std::size_t bytes = leaf_granules * sizeof(Word);
  // Uses system calls, because this library defines functions with these names.
  const long memory =
      syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == -1) return nullptr;
  auto* const leaf = reinterpret_cast<Word*>(memory);
  Word* expected = nullptr;
  if (slot.compare_exchange_strong(expected, leaf, std::memory_order_acq_rel)) return leaf;
  syscall(SYS_munmap, leaf, bytes);  // another thread was first
  return expected;
}

}  // namespace blastoff::allocator
