#include "blocks/program_memory.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "platform/memory_map.h"

namespace blastoff::blocks {
namespace {

using tracking::MemoryEvent;
using tracking::PageTracker;

Span whole_pages(Span bytes) {
  const Span pages = platform::inward_to_pages(bytes);
  return pages.empty() ? Span{bytes.end, bytes.end} : pages;
}

}  // namespace

Result<std::unique_ptr<ProgramMemory>> Watch::open(Span bytes) {
  std::unique_ptr<ProgramMemory> memory(new ProgramMemory(*this, bytes));  // ends after the lock
  const std::lock_guard lock(mutex_);
  auto next = all_.upper_bound(bytes.begin);
  const bool shared = (next != all_.end() && next->second->bytes().overlaps(bytes)) ||
                      (next != all_.begin() && std::prev(next)->second->bytes().overlaps(bytes));
  if (shared) return failure(ErrorKind::bad_argument, "part of this memory is under another block");
  if (auto tracked = memory->track(); !tracked) return tl::unexpected(tracked.error());
  all_.emplace(bytes.begin, memory.get());
  return memory;
}

void Watch::close(ProgramMemory& memory) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(memory.bytes().begin);
  if (found != all_.end() && found->second == &memory) all_.erase(found);
}

void Watch::collect_events() {
  std::vector<MemoryEvent> events;
  const bool complete = tracker_->events().drain(events);
  for (const auto& [begin, memory] : all_) {
    if (!complete) memory->vanished_ = true;
    for (const MemoryEvent& event : events) {
      if (!event.span.overlaps(memory->pages_)) continue;
      if (event.kind == MemoryEvent::Kind::dropped)
        memory->dropped_.push_back(
            {std::max(event.span.begin, memory->pages_.begin), std::min(event.span.end, memory->pages_.end)});
      else
        memory->vanished_ = true;
    }
  }
}

ProgramMemory::ProgramMemory(Watch& watch, Span bytes) : watch_(watch), bytes_(bytes), pages_(whole_pages(bytes)) {}

ProgramMemory::~ProgramMemory() {
  if (exact_ && !pages_.empty()) watch_.tracker_->untrack(pages_);
  watch_.close(*this);
}

Status ProgramMemory::track() {
  const platform::MemoryKind kind = platform::find_mapping(bytes_).kind;
  if (kind == platform::MemoryKind::other)
    return failure(ErrorKind::bad_argument,
                   fmt::format("{} bytes at {:#x} are no memory of the program's", bytes_.bytes(), bytes_.begin));
  tracking::PageTracker* const tracker = watch_.tracker_;
  exact_ = tracker != nullptr && tracker->tracks(kind) && (pages_.empty() || tracker->track(pages_));
  return {};
}

Status ProgramMemory::written(std::vector<Span>& runs) {
  std::vector<Span> dropped;
  bool vanished = false;
  if (watch_.tracker_ != nullptr) {
    const std::lock_guard lock(watch_.mutex_);
    watch_.collect_events();
    dropped.swap(dropped_);
    vanished = std::exchange(vanished_, false);
  }
  const std::size_t first = runs.size();
  if (exact_ && !vanished && scan(runs)) {
    runs.insert(runs.end(), dropped.begin(), dropped.end());
    return {};
  }
  runs.resize(first);
  if (exact_ || vanished) {
    if (auto tracked = track(); !tracked) {
      exact_ = false;
      return failure(ErrorKind::bad_argument, "the program's memory under a block is no longer there");
    }
    std::vector<Span> everything;
    if (exact_) exact_ = scan(everything);
  }
  runs.push_back(bytes_);
  return {};
}

/// False: the memory is not tracked any more.
bool ProgramMemory::scan(std::vector<Span>& runs) {
  if (edge_written(head(), head_content_)) runs.push_back(head());
  if (!pages_.empty() && watch_.tracker_->scan(pages_, true, runs) != PageTracker::Scan::ok) return false;
  if (edge_written(tail(), tail_content_)) runs.push_back(tail());
  return true;
}

/// Remembers what is there.
bool ProgramMemory::edge_written(Span edge, std::vector<unsigned char>& content) {
  if (edge.empty()) return false;
  const void* const memory = reinterpret_cast<const void*>(edge.begin);
  if (content.size() == edge.bytes() && std::memcmp(content.data(), memory, edge.bytes()) == 0) return false;
  content.resize(edge.bytes());
  std::memcpy(content.data(), memory, edge.bytes());
  return true;
}

void ProgramMemory::begin_overwrite() {
  if (exact_ && !pages_.empty()) watch_.tracker_->unprotect(pages_);
}

void ProgramMemory::end_overwrite() {
  std::vector<Span> our_own;
  if (exact_) exact_ = scan(our_own);
}

}  // namespace blastoff::blocks
