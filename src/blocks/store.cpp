// Blocks that are kept in a file.

#include <fmt/format.h>

#include "blocks/block.h"
#include "blocks/engine.h"

namespace blastoff::blocks {

Status Block::store() {
  const std::lock_guard lock(mutex_);
  if (writer_ || readers_ > 0) return failure(ErrorKind::conflict, "a block is stored while it is held");
  if (program_ || !defined_) return {};
  if (!stored_) {
    if (auto ok = bring(host_place); !ok) return ok;
    if (auto ok = wait_until_ready(host_place); !ok) return ok;
    platform::Span where;
    const std::string why = engine_.scratch_file().write(host_pointer(home().address), bytes_, where);
    if (!why.empty())
      return failure(ErrorKind::out_of_memory, fmt::format("a block cannot be written to a file: {}", why));
    stored_ = where;
  }
  for (int place = host_place; place < engine_.devices(); ++place) drop(place);
  return {};
}

/// Reads the newest version from the file to the host. It stays in the file, too, until it is written.
Status Block::restore() {
  if (auto ok = allocate(host_place); !ok) return ok;
  engine_.counters().waited(home().uses.finish());
  const std::string why = engine_.scratch_file().read(*stored_, host_pointer(home().address));
  if (!why.empty())
    return failure(ErrorKind::device_lost, fmt::format("a block cannot be read from its file: {}", why));
  home().ready = nullptr;
  home().stale.clear();
  return {};
}

void Block::drop_stored() {
  if (stored_) engine_.scratch_file().drop(*stored_);
  stored_.reset();
}

}  // namespace blastoff::blocks
