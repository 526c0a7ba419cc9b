#include "blocks/program_memory.h"

#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "platform/memory_map.h"

namespace blastoff::blocks {
namespace {

using ledger::chunk_bytes;

Span whole_pages(Span bytes) {
  const Span pages = platform::inward_to_pages(bytes);
  return pages.empty() ? Span{bytes.end, bytes.end} : pages;
}

}  // namespace

Result<std::unique_ptr<ProgramMemory>> Watch::open(Span bytes) {
  std::unique_ptr<ProgramMemory> memory(new ProgramMemory(*this, bytes));  // ends after the lock
  const std::lock_guard lock(mutex_);
  if (any_in(bytes)) return failure(ErrorKind::bad_argument, "part of this memory is under another block");
  if (ledger_ && !place_) place_.emplace(*ledger_);
  if (auto tracked = memory->track(); !tracked) return tl::unexpected(tracked.error());
  all_.emplace(bytes.begin, memory.get());
  return memory;
}

void Watch::close(ProgramMemory& memory) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(memory.bytes().begin);
  if (found != all_.end() && found->second == &memory) all_.erase(found);
  memory.each_chunk([&](std::uintptr_t chunk) {
    if (place_ && !any_in({chunk, chunk + chunk_bytes})) place_->close(chunk);
  });
}

bool Watch::covers_any(Span pages) {
  const std::lock_guard lock(mutex_);
  return any_in(pages);
}

/// They do not overlap each other, so the one that begins last also ends last.
bool Watch::any_in(Span span) const {
  const auto next = all_.lower_bound(span.end);
  return next != all_.begin() && std::prev(next)->second->bytes().end > span.begin;
}

ProgramMemory::ProgramMemory(Watch& watch, Span bytes) : watch_(watch), bytes_(bytes), pages_(whole_pages(bytes)) {}

ProgramMemory::~ProgramMemory() {
  watch_.close(*this);
}

template <class Visit>
void ProgramMemory::each_chunk(Visit&& visit) const {
  for (std::uintptr_t chunk = pages_.begin / chunk_bytes * chunk_bytes; chunk < pages_.end; chunk += chunk_bytes)
    visit(chunk);
}

Status ProgramMemory::track() {
  const platform::MemoryKind kind = platform::find_mapping(bytes_).kind;
  if (kind == platform::MemoryKind::other)
    return failure(ErrorKind::bad_argument,
                   fmt::format("{} bytes at {:#x} are no memory of the program's", bytes_.bytes(), bytes_.begin));
  auto& place = watch_.place_;
  exact_ = place && place->tracker().tracks(kind) && (pages_.empty() || place->watch(pages_));
  if (exact_) each_chunk([&](std::uintptr_t chunk) { place->open(chunk, 0); });
  return {};
}

/// Results that calls have left on a device. No thread may meet their absence in the driver, which would have to copy
/// them.
void ProgramMemory::bring_results_home() {
  if (watch_.place_) watch_.place_->bring_home(platform::outward_to_pages(bytes_));
}

Status ProgramMemory::written(std::vector<Span>& runs) {
  bring_results_home();
  const std::size_t first = runs.size();
  if (exact_ && scan(runs)) return {};
  runs.resize(first);
  if (exact_) {  // other memory is there by now, or none
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
  if (!pages_.empty() && !scan_pages(runs)) return false;
  if (edge_written(tail(), tail_content_)) runs.push_back(tail());
  return true;
}

bool ProgramMemory::scan_pages(std::vector<Span>& runs) {
  ledger::Place& place = *watch_.place_;
  std::vector<tracking::MemoryEvent> events;
  place.drain(events);  // what has gone is invalid
  const std::size_t first = runs.size();
  std::vector<Span> faulted;
  if (!place.protect(pages_, runs, faulted)) {
    place.forget(pages_);
    return false;
  }
  for (std::size_t i = first; i < runs.size(); ++i) place.take(runs[i]);
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
  bring_results_home();
  if (exact_ && !pages_.empty()) watch_.place_->unprotect(pages_);
}

// A driver may copy into pages that it has taken from the page table before. Their trace may have been consumed by a
// scan while the copy went on.
void ProgramMemory::end_overwrite() {
  std::vector<Span> our_own;
  if (exact_) exact_ = scan(our_own);
  if (watch_.place_) watch_.place_->wrote(platform::outward_to_pages(bytes_));
}

}  // namespace blastoff::blocks
