#include "report/run_space.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>

#include "platform/descriptor.h"

namespace blastoff::report {

namespace {

using Quota = std::atomic<std::int64_t>;

enum class Answer { unlimited, granted, refused };

/// Adds `bytes` to the bytes that are left. The result is below zero for no longer than one call takes.
Answer change_quota(const char* directory, std::int64_t bytes) {
  std::array<char, 512> path{};
  const int length = std::snprintf(path.data(), path.size(), "%s/%s", directory, quota_file);
  if (length < 0 || static_cast<std::size_t>(length) >= path.size()) return Answer::refused;
  const platform::Descriptor file(open(path.data(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return errno == ENOENT ? Answer::unlimited : Answer::refused;
  void* const memory = mmap(nullptr, sizeof(Quota), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return Answer::refused;
  Quota& left = *static_cast<Quota*>(memory);
  const bool granted = left.fetch_add(bytes) + bytes >= 0 || bytes >= 0;
  if (!granted) left.fetch_sub(bytes);
  munmap(memory, sizeof(Quota));
  return granted ? Answer::granted : Answer::refused;
}

}  // namespace

bool is_roomy(const char* directory, std::size_t bytes) {
  struct statfs system {};
  if (statfs(directory, &system) != 0) return false;
  return system.f_bavail * static_cast<std::uint64_t>(system.f_bsize) >= min_free_bytes + bytes;
}

bool take_space(const char* directory, std::size_t bytes) {
  return is_roomy(directory, bytes) && change_quota(directory, -static_cast<std::int64_t>(bytes)) != Answer::refused;
}

void return_space(const char* directory, std::size_t bytes) {
  change_quota(directory, static_cast<std::int64_t>(bytes));
}

}  // namespace blastoff::report
