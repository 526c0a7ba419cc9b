// Memory events as interposed calls tell them: the fallback where the kernel's are forbidden.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tracking/memory_events.h"

namespace blastoff::tracking {

/// What the allocator library calls (blastoff_memory_event in include/blastoff.h). From any thread, inside malloc and
/// signal handlers: takes no lock, allocates nothing, leaves errno alone; one load where nobody listens.
/// The span need not be whole pages.
void note_interposed_event(const MemoryEvent& event);

/// Hears what happens through the allocator library's interposed calls. A handful may be open at once.
class InterposedMemoryEvents final : public MemoryEvents {
 public:
  /// The error says that the allocator library is not loaded.
  static tl::expected<std::unique_ptr<InterposedMemoryEvents>, std::string> open();
  ~InterposedMemoryEvents() override;

  const char* name() const override { return "interposed calls"; }
  bool complete() const override { return false; }
  tl::expected<void, std::string> watch(Span span) override;
  void unwatch(Span) override {}  // events of memory that nobody watches any more do no harm
  bool drain(std::vector<MemoryEvent>& events) override;
  bool wait_for_events() override;
  void stop_waiting() override;

  struct Channel;

 private:
  explicit InterposedMemoryEvents(Channel& channel) : channel_(channel) {}

  Channel& channel_;
};

}  // namespace blastoff::tracking
