#include "tracking/memory_events.h"

#include "platform/failure.h"
#include "tracking/interposed/memory_events.h"
#include "tracking/uffd/memory_events.h"

namespace blastoff::tracking {

tl::expected<void, std::string> kernel_tells_of_memory() {
  return UffdMemoryEvents::allowed();
}

tl::expected<std::unique_ptr<MemoryEvents>, std::string> open_memory_events() {
  auto of_kernel = UffdMemoryEvents::open({});
  if (of_kernel) return of_kernel;
  // The kernel allows it, but it failed (no thread or descriptor left). The allocator library reports nothing where the
  // kernel allows its own events.
  if (kernel_tells_of_memory()) return tl::unexpected(of_kernel.error());
  auto interposed = InterposedMemoryEvents::open();
  if (interposed) return interposed;
  return tl::unexpected(platform::both_reasons(of_kernel.error(), interposed.error()));
}

}  // namespace blastoff::tracking
