// All blocks of a process: the places where they live, and the memory there.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "blocks/block.h"
#include "blocks/options.h"
#include "blocks/site.h"
#include "device/direct_copies.h"
#include "operation/host.h"
#include "platform/scratch_file.h"

namespace blastoff::blocks {

struct Setup {
  std::vector<device::Device*> devices;   ///< which outlive the engine; may be none
  ledger::Ledger* ledger = nullptr;       ///< which outlives the engine; null: what the program writes is not told
  const operation::Host* host = nullptr;  ///< computes contractions on the host and on simulated devices; null: Product
  std::function<void(platform::Span)> unlock;  ///< ends page locks of memory that is_under_block(); may be empty
  std::function<void()> relieve;               ///< gives back device memory that others could do without; may be empty
};

/// Memory of pools, as counters show it.
struct MemoryCounts {
  device::PoolCounts host;
  device::PoolCounts device;
};

/// Thread-safe. Outlives its blocks.
class Engine {
 public:
  explicit Engine(Setup setup);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  int devices() const { return static_cast<int>(sites_.size()); }
  bool is_place(int place) const { return place >= host_place && place < devices(); }

  Options options() const;
  void set_options(const Options& options);

  Counters& counters() { return counters_; }
  MemoryCounts memory_counts() const;

  /// For a block over the program's memory.
  Result<std::unique_ptr<ProgramMemory>> watch_memory(void* memory, std::size_t bytes);

  /// Whether some of the memory is under a block. It must not be page-locked: copies of blocks could meet a lock that
  /// ends, or one on pages that the program has given up.
  bool is_under_block(platform::Span span) { return watch_.covers_any(span); }

  /// Waits until all copies and contractions have run.
  Status synchronize();
  /// Gives back memory that is kept for later.
  void trim();

  const operation::Host& host() const { return *host_; }

  // For blocks and contractions:
  device::DirectCopies& direct_copies() { return direct_copies_; }
  platform::ScratchFile& scratch_file() { return scratch_file_; }
  Site& site(int place) { return *sites_[static_cast<std::size_t>(place)]; }
  /// Page-locked if possible.
  device::Result<device::PooledMemory> host_memory(std::size_t bytes);
  /// Takes the memory of blocks that are not in use there if it is short.
  device::Result<device::PooledMemory> device_memory(int place, std::size_t bytes);

 private:
  bool evict_oldest(int place);

  const Setup setup_;
  std::unique_ptr<operation::Host> own_host_;
  const operation::Host* host_;
  Counters counters_;
  Watch watch_;
  device::DirectCopies direct_copies_;
  mutable std::mutex mutex_;
  Options options_;
  device::MemoryPool plain_;
  platform::ScratchFile scratch_file_;
  std::unique_ptr<device::MemoryPool> pinned_;  // null without a device
  std::vector<std::unique_ptr<Site>> sites_;
};

}  // namespace blastoff::blocks
