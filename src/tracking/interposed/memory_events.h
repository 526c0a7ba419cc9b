// Memory events reported by interposed calls: the fallback where the kernel's own are forbidden.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tracking/memory_events.h"

namespace blastoff::tracking {

/// Called by the allocator library (blastoff_memory_event in include/blastoff.h) from any thread, also inside malloc
/// and signal handlers. Takes no lock, allocates nothing and preserves errno. Costs one load if nobody listens. The
/// span need not be whole pages.
void note_interposed_event(const MemoryEvent& event);

/// Whether the allocator library is loaded, and belongs to this one: one of another version may understand an answer
/// otherwise, and then tell of nothing. The error is one line.
tl::expected<void, std::string> allocator_belongs_here();

/// Receives the events of the allocator library's interposed calls. At most four can be open at once.
class InterposedMemoryEvents final : public MemoryEvents {
 public:
  /// Fails if the allocator library is not loaded, belongs elsewhere, or has too many listeners.
  static tl::expected<std::unique_ptr<InterposedMemoryEvents>, std::string> open();
  ~InterposedMemoryEvents() override;

  const char* name() const override { return "interposed calls"; }
  bool complete() const override { return false; }
  tl::expected<void, std::string> watch(Span span) override;
  void unwatch(Span) override {}  // events of memory that is no longer watched do no harm
  bool drain(std::vector<MemoryEvent>& events) override;
  bool wait_for_events() override;
  void stop_waiting() override;

  struct Channel;

 private:
  explicit InterposedMemoryEvents(Channel& channel) : channel_(channel) {}

  Channel& channel_;
};

}  // namespace blastoff::tracking
