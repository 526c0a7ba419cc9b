// A block: which places have its newest version, who holds it, and which copies and uses may still run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "blocks/error.h"
#include "blocks/program_memory.h"
#include "blocks/site.h"
#include "platform/interval_set.h"

namespace blastoff::blocks {

class Engine;

/// The host; devices are 0, 1, ...
inline constexpr int host_place = -1;
/// Memory there, whose address acquire() and pools give as a number.
inline void* host_pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

/// blastoff_access.
enum class Access : std::uint8_t { read, write, update };
constexpr bool reads(Access access) {
  return access != Access::write;
}
constexpr bool writes(Access access) {
  return access != Access::read;
}

/// The functions of include/blastoff_blocks.h on one block, which says what they do. Thread-safe. Places must exist.
/// Ends only when nobody holds it, and before the engine.
class Block {
 public:
  /// Over the program's memory, or (null) over memory of its own.
  Block(Engine& engine, std::size_t bytes, std::unique_ptr<ProgramMemory> memory);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::size_t bytes() const { return bytes_; }

  /// `queue`: whose later work uses the block; null: the caller does, when this has returned.
  Result<std::uint64_t> acquire(int place, Access access, device::Queue* queue);
  /// `queue`: whose work up to now uses it; null: that has ended.
  Status release(int place, device::Queue* queue);
  /// After a failed write: nothing of what the block holds is of any use. Nobody else may hold it.
  void forget();
  /// Ends an acquisition for writing that failed: there is no content.
  Status abandon(int place);

  // In parts, for transfers: what has been copied of a block is used while the rest is being copied.

  /// acquire() on the host for reading, of which the first bytes alone can be used: as far as await_part() has waited.
  /// Ended by release().
  Result<std::uint64_t> acquire_parts(std::size_t part_bytes);
  /// Blocks until the first `end` bytes are on the host.
  Status await_part(std::size_t end);
  /// These bytes of a block that is held for writing on the host are written: starts to bring them to the place. A
  /// hint.
  Status forward_part(int place, platform::Span offsets);

  Status prefetch(int place);
  Status evict(int place);
  Status store();
  bool is_current(int place);
  int newest();

  /// Brings the newest version of the program's memory home. ErrorKind::conflict: somebody holds the block.
  Status finish();

  /// The block's lock, if it is free and the block's memory at the place can be taken away.
  std::unique_lock<std::mutex> try_claim(int place);
  /// Under that lock.
  Status evict_claimed(int place);

 private:
  struct Place {
    device::PooledMemory memory;  // of a pool; none over the program's memory
    std::uint64_t address = 0;    // 0: there is no memory yet
    platform::IntervalSet stale;  // offsets of bytes that are not those of the newest version
    Point ready;                  // its content is there after this
    device::PendingUses uses;     // that have to end before it is overwritten or freed
    int readers = 0;
    std::optional<Site::Entry> entry;
  };

  /// A part of a copy to the host.
  struct Part {
    std::size_t end;  // offset behind it
    Point arrived;
    int from;
  };

  /// Copies to a device, and when they have arrived.
  struct Queued {
    Point arrived;
    std::uint64_t bytes = 0;
  };

  Place& at(int place) { return places_[static_cast<std::size_t>(place) + 1]; }
  Place& home() { return at(host_place); }
  platform::Span whole() const { return {0, bytes_}; }
  bool usable(int place);
  bool current(int place);
  bool current_elsewhere(int not_at);
  std::optional<int> source(int not_at);

  Status check_holders(int place, Access access);
  Status notice_writes(Access access);
  Status allocate(int place);
  Status bring(int place);
  bool is_direct(int place, int from);
  static device::Status await_uses(const Place& there, device::Queue& queue);
  Status upload(int place);
  Status copy_between(int place, int from);
  template <class Copy>
  Result<Queued> queue_copies(int place, const platform::IntervalSet& offsets, const Copy& copy);
  Status queue_upload(int place, const platform::IntervalSet& offsets);
  Status download(int place, std::size_t part_bytes);
  Status await(int place, Access access, device::Queue* queue);
  Status wait_until_ready(int place);
  device::Status wait_for(const Point& point);
  void hold(int place, Access access);
  void end_hold(int place);
  device::Result<Point> record(int place, device::Queue& queue);
  void drop(int place);
  Status restore();
  void drop_stored();
  tl::unexpected<Error> failed(int place, const device::Error& error);

  Engine& engine_;
  const std::size_t bytes_;
  const std::unique_ptr<ProgramMemory> program_;
  std::mutex mutex_;
  std::vector<Place> places_;             // the host, then the devices
  bool defined_ = false;                  // something was written
  bool torn_ = false;                     // the program wrote its memory while the newest version was elsewhere
  std::optional<platform::Span> stored_;  // where the newest version is in the engine's file
  std::optional<int> writer_;             // place of the one who holds it for writing
  int readers_ = 0;                       // at all places
  std::vector<Part> parts_;               // of the latest copy to the host, while it is read there
};

}  // namespace blastoff::blocks
