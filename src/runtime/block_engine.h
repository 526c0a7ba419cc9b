// The block engine of this process, over the devices that the process has opened.
#pragma once

#include <optional>

#include "../include/blastoff_blocks.h"
#include "blocks/engine.h"

namespace blastoff::runtime {

/// One call of the block interface. While one lives, the process does not leave the device.
class BlockCall {
 public:
  /// Opens the devices at the first call.
  BlockCall();
  ~BlockCall();
  BlockCall(const BlockCall&) = delete;
  BlockCall& operator=(const BlockCall&) = delete;

  /// nullptr if no block may be used; why() gives the reason.
  blocks::Engine* engine() const { return engine_; }
  const char* why() const { return why_; }

 private:
  blocks::Engine* engine_ = nullptr;
  const char* why_ = "";
};

blastoff_blocks_counters counters_of(blocks::Engine& engine);
/// Those of this process; nullopt if it used no block.
std::optional<blastoff_blocks_counters> describe_blocks();

}  // namespace blastoff::runtime
