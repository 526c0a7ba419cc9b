// The block engine of this process, over the devices that the process has opened.
#pragma once

#include <optional>

#include "blocks/engine.h"
#include "report/context.h"

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

/// For reports; nullopt if the process used no block.
std::optional<report::BlockUse> describe_blocks();

}  // namespace blastoff::runtime
