#include "runtime/user_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "platform/descriptor.h"

namespace blastoff::runtime {

namespace {

constexpr std::size_t max_bytes = std::size_t{1} << 20;

}  // namespace

std::string user_cache() {
  if (const char* const cache = secure_getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::string(cache) + "/blastoff";
  const char* const home = secure_getenv("HOME");
  return home == nullptr || *home != '/' ? "" : std::string(home) + "/.cache/blastoff";
}

std::optional<std::string> content_of(const std::string& path) {
  const platform::Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat state {};
  if (!file || fstat(file.get(), &state) != 0 || !S_ISREG(state.st_mode)) return std::nullopt;
  std::string text(std::min(max_bytes, static_cast<std::size_t>(state.st_size)), '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = read(file.get(), text.data() + length, text.size() - length);
    if (got <= 0) break;
    length += static_cast<std::size_t>(got);
  }
  text.resize(length);
  return text;
}

std::optional<std::chrono::seconds> age_of(const std::string& path) {
  struct stat state {};
  if (stat(path.c_str(), &state) != 0) return std::nullopt;
  return std::chrono::seconds(std::time(nullptr) - state.st_mtime);
}

void set_age(const std::string& path, std::chrono::seconds age) {
  const timespec then{std::time(nullptr) - static_cast<std::time_t>(age.count()), 0};
  const timespec times[2] = {then, then};
  utimensat(AT_FDCWD, path.c_str(), times, 0);
}

}  // namespace blastoff::runtime
