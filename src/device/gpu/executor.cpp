#include "device/gpu/executor.h"

#include <fmt/format.h>

#include "platform/threads.h"

namespace blastoff::device::gpu {

Status ExecutorLibraries::require_any() {
  const std::lock_guard lock(mutex_);
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
    if (open(kind)) return {};
  return tl::unexpected(open(0).error());
}

Result<std::size_t> ExecutorLibraries::kind_for(const operation::Operation& operation) const {
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
    if (kinds_[kind].runs(operation)) return kind;
  return tl::unexpected(
      Error{ErrorKind::unsupported, fmt::format("no library of this GPU computes {}", operation.name())});
}

Result<const ExecutorLibrary*> ExecutorLibraries::opened(std::size_t kind) {
  const std::lock_guard lock(mutex_);
  const Opened& opened = open(kind);
  if (opened) return opened->get();
  return tl::unexpected(Error{ErrorKind::unsupported, opened.error().message});
}

std::vector<Library> ExecutorLibraries::all() {
  const std::lock_guard lock(mutex_);
  std::vector<Library> libraries;
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    const Opened& opened = open(kind);
    libraries.push_back({.computes = kinds_[kind].computes,
                         .version = opened ? (*opened)->version() : "",
                         .error = opened ? "" : opened.error().message});
  }
  return libraries;
}

std::string ExecutorLibraries::versions() {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const std::optional<Opened>& opened : opened_)
    if (opened && *opened) text += ", " + (**opened)->version();
  return text;
}

const ExecutorLibraries::Opened& ExecutorLibraries::open(std::size_t kind) {
  std::optional<Opened>& opened = opened_[kind];
  if (!opened) {
    // A library may start threads when it is loaded; these must not handle the program's signals.
    const platform::SignalsBlocked blocked;
    opened.emplace(kinds_[kind].open(search_));
  }
  return *opened;
}

}  // namespace blastoff::device::gpu
