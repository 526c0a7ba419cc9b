#include "residency/commit_log.h"

#include <algorithm>

namespace blastoff::residency {

namespace {

constexpr std::size_t words = 2 * CommitLog::max_panels + 1;
constexpr device::Block one_word{sizeof(std::uint32_t)};

// The device writes the words, and the compiler does not know it.
std::uint32_t load(const std::uint32_t* word) {
  return *const_cast<const volatile std::uint32_t*>(word);
}

}  // namespace

device::Result<std::unique_ptr<CommitLog>> CommitLog::create(device::Device& device, device::Queue& queue) {
  std::unique_ptr<CommitLog> log(new CommitLog(device));
  auto staging = device.allocate_staging(words * sizeof(std::uint32_t));
  if (!staging) return tl::unexpected(staging.error());
  log->words_ = static_cast<std::uint32_t*>(*staging);
  auto mark = device.allocate(device::MemoryClient::workspaces, sizeof(std::uint32_t));
  if (!mark) return tl::unexpected(mark.error());
  log->mark_ = *mark;
  log->words_[words - 1] = 1;
  if (auto copied = queue.copy_to_device(log->mark_, &log->words_[words - 1], one_word); !copied)
    return tl::unexpected(copied.error());
  if (auto done = queue.synchronize(); !done) return tl::unexpected(done.error());
  log->clear();
  return log;
}

CommitLog::~CommitLog() {
  if (mark_) device_.free(mark_);
  if (words_) device_.free_staging(words_, words * sizeof(std::uint32_t));
}

void CommitLog::clear() {
  std::fill(words_, words_ + words - 1, 0U);
}

device::Status CommitLog::mark(device::Queue& queue, std::size_t word) {
  return queue.copy_to_host(&words_[word], mark_, one_word);
}

HostState CommitLog::state(std::size_t panel) const {
  if (load(&words_[2 * panel + 1])) return HostState::complete;
  return load(&words_[2 * panel]) ? HostState::torn : HostState::untouched;
}

}  // namespace blastoff::residency
