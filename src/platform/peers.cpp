#include "platform/peers.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string_view>
#include <thread>

#include "platform/folder.h"

namespace blastoff::platform {
namespace {

using Clock = std::chrono::steady_clock;

// Two files: closing one descriptor of a file ends all locks that the process has on it.
constexpr const char* turns_file = "/opening";
constexpr const char* choice_file = "/choosing";
constexpr std::chrono::milliseconds pause{2};
constexpr std::chrono::seconds longest_choice{1};
constexpr std::string_view entry_prefix = "device-";

bool try_lock(int file, off_t byte) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return fcntl(file, F_SETLK, &lock) == 0;
}

/// The descriptor that holds a lock on one of the first `count` bytes of a file; -1 if none could be had in time.
/// Closing it ends the lock.
int lock_one(const std::string& path, int count, std::chrono::milliseconds longest) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return -1;
  for (const auto deadline = Clock::now() + longest;; std::this_thread::sleep_for(pause)) {
    for (int byte = 0; byte < count; ++byte)
      if (try_lock(file, byte)) return file;
    if (Clock::now() >= deadline) break;
  }
  close(file);
  return -1;
}

bool lives(pid_t process) {
  return kill(process, 0) == 0 || errno == EPERM;
}

/// The process id at the end of "device-NAME.4711", for the entries of one device; 0 for other files.
pid_t user_in(std::string_view file, const std::string& device) {
  if (!file.starts_with(entry_prefix)) return 0;
  file.remove_prefix(entry_prefix.size());
  if (!file.starts_with(device) || file.size() < device.size() + 2 || file[device.size()] != '.') return 0;
  file.remove_prefix(device.size() + 1);
  pid_t process = 0;
  const auto [end, error] = std::from_chars(file.data(), file.data() + file.size(), process);
  return error == std::errc{} && end == file.data() + file.size() ? process : 0;
}

}  // namespace

Peers::Turn::Turn(const Peers& peers, std::chrono::milliseconds longest)
    : file_(peers.directory_.empty() ? -1 : lock_one(peers.directory_ + turns_file, most_at_once, longest)) {}

Peers::Turn::~Turn() {
  if (file_ >= 0) close(file_);
}

std::size_t Peers::choose(std::span<const std::string> devices, std::size_t preferred) const {
  if (directory_.empty()) return preferred;
  const int file = lock_one(directory_ + choice_file, 1, longest_choice);
  std::size_t best = preferred;
  int fewest = users(devices[preferred]);
  for (std::size_t step = 1; step < devices.size() && fewest > 0; ++step) {
    const std::size_t candidate = (preferred + step) % devices.size();
    const int number = users(devices[candidate]);
    if (number < fewest) {
      fewest = number;
      best = candidate;
    }
  }
  enter(devices[best]);
  if (file >= 0) close(file);
  return best;
}

int Peers::users(const std::string& device) const {
  if (directory_.empty()) return 0;
  int number = 0;
  for (const std::string& name : names_in(directory_)) {
    const pid_t process = user_in(name, device);
    if (process > 0 && process != getpid() && lives(process)) ++number;
  }
  return number;
}

void Peers::enter(const std::string& device) const {
  if (directory_.empty()) return;
  const std::string entry = directory_ + "/" + std::string(entry_prefix) + device + "." + std::to_string(getpid());
  const int file = open(entry.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0) close(file);
}

}  // namespace blastoff::platform
