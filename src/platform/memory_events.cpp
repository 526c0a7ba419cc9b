#include "platform/memory_events.h"

namespace blastoff::platform {

tl::expected<std::unique_ptr<MemoryEvents>, std::string> open_memory_events() {
  return tl::unexpected(std::string("no memory events yet"));
}

}  // namespace blastoff::platform
