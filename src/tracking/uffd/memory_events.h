// The kernel's own memory events: a userfaultfd that reports unmapping, moving and dropping, and traps no page faults.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "platform/interval_set.h"
#include "tracking/memory_events.h"
#include "tracking/uffd/event_reader.h"

namespace blastoff::tracking {

/// Ends every watch of the span as if the memory had been unmapped, because the program wants to register it with a
/// userfaultfd of its own, to protect it, to move it, or to make it unreadable. False: nobody watches it.
bool surrender_memory(Span span);

/// Ends every watch for good, as if the program had closed all descriptors: whoever drains hears of a loss.
void end_watching();

/// Whether any memory may have been watched so far; costs one load.
bool memory_is_watched();

/// Watched memory is registered for write protection, since registration needs a mode, but nothing is protected. Needs
/// Linux 5.7 on x86-64, 6.10 on arm64. Not for children of fork, where the descriptor still refers to the parent's
/// memory.
class UffdMemoryEvents final : public MemoryEvents {
 public:
  /// Features of userfaultfd that are needed besides events, and the words for what a kernel without them lacks.
  struct Features {
    std::uint64_t bits = 0;
    const char* lack = "events of freed memory";
  };
  static tl::expected<std::unique_ptr<UffdMemoryEvents>, std::string> open(const Features& features);

  /// Whether open() would work with events alone; starts no thread. The error is one line.
  static tl::expected<void, std::string> allowed();

  const char* name() const override { return "userfaultfd"; }
  bool complete() const override { return true; }
  tl::expected<void, std::string> watch(Span span) override;
  void unwatch(Span span) override;
  bool drain(std::vector<MemoryEvent>& events) override;
  bool wait_for_events() override { return reader_->wait_for_events(); }
  void stop_waiting() override { reader_->stop_waiting(); }

  /// See EventReader.
  int control(unsigned long request, void* argument) { return reader_->control(request, argument); }
  EventReader& reader() { return *reader_; }

  /// See surrender_memory().
  bool surrender(Span span);
  /// Called for memory that the program wants to be watched no more, before it is unwatched.
  void on_surrender(std::function<void(Span)> surrender) { reader_->on_surrender(std::move(surrender)); }

  /// Whether threads also wait for pages where the kernel touches them on their behalf.
  bool serves_kernel() const { return serves_kernel_; }

  /// Somebody has registered this memory through control(), so it counts as watched. False: no memory to remember it.
  bool note_watched(Span span);

  /// Called by drain() for each event, the one of this index; for memory that was moved, before it is unwatched at its
  /// new address. It may append events that have come meanwhile, by take_more().
  using Heard = std::function<void(std::vector<MemoryEvent>& events, std::size_t index)>;
  void on_event(Heard heard) { heard_ = std::move(heard); }
  void take_more(std::vector<MemoryEvent>& events) { lost_ = !reader_->ring().take(events) || lost_; }

  ~UffdMemoryEvents() override;

 private:
  UffdMemoryEvents(std::unique_ptr<EventReader> reader, bool serves_kernel);
  bool unregister_span(Span span);
  Span to_unwatch(const MemoryEvent& moved);
  void forget_watched(Span span);

  std::unique_ptr<EventReader> reader_;
  const bool serves_kernel_;
  Heard heard_;
  bool lost_ = false;  ///< of what take_more() took
  std::mutex watched_mutex_;
  platform::IntervalSet watched_;  ///< what somebody has asked to watch, and has not gone
  std::mutex drain_mutex_;         ///< one drain at a time; the event reader never takes it
};

}  // namespace blastoff::tracking
