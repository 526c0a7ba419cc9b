#include "platform/peers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <thread>

#include "platform/folder.h"

namespace blastoff::platform {
namespace {

using Clock = std::chrono::steady_clock;

// Two files, since closing any descriptor of a file ends all locks that the process has on the file.
constexpr const char* turns_file = "/opening";
constexpr const char* choice_file = "/choosing";
constexpr const char* turns_had_file = "/opened";  ///< exists once a turn has ended
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

int open_lock_file(const std::string& path) {
  return open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

/// Locks one of the first count() bytes of a file, and keeps that lock. Returns false if none could be had in time.
template <class Count>
bool lock_one(int file, Count&& count, std::chrono::milliseconds longest) {
  for (const auto deadline = Clock::now() + longest;; std::this_thread::sleep_for(pause)) {
    for (int byte = 0; byte < count(); ++byte)
      if (try_lock(file, byte)) return true;
    if (Clock::now() >= deadline) return false;
  }
}

/// Takes a name that belongs to no file and that one socket has at a time. Returns false if another process has it.
bool hold_name(int socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "blastoff-opening-" + std::to_string(getuid());
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return bind(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0 || errno != EADDRINUSE;
}

bool hold_name(int socket, std::chrono::milliseconds longest) {
  for (const auto deadline = Clock::now() + longest; !hold_name(socket); std::this_thread::sleep_for(pause))
    if (Clock::now() >= deadline) return false;
  return true;
}

bool lives(pid_t process) {
  return kill(process, 0) == 0 || errno == EPERM;
}

/// The process id in a file name "device-NAME.4711" of that device; 0 for other files.
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

Peers::Turn::Turn(const Peers& peers, std::chrono::milliseconds longest) : directory_(peers.directory_) {
  if (directory_.empty()) {
    file_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (file_ >= 0) came_ = hold_name(file_, longest);
  } else {
    file_ = open_lock_file(directory_ + turns_file);
    const std::string had = directory_ + turns_had_file;
    const auto at_once = [&] { return access(had.c_str(), F_OK) == 0 ? max_at_once : 1; };
    if (file_ >= 0) came_ = lock_one(file_, at_once, longest);
  }
  if (came_ || file_ < 0) return;
  close(file_);
  file_ = -1;
}

Peers::Turn::~Turn() {
  if (file_ < 0) return;
  if (!directory_.empty()) {
    const int had = open_lock_file(directory_ + turns_had_file);
    if (had >= 0) close(had);
  }
  close(file_);
}

std::size_t Peers::choose(std::span<const std::string> devices, std::size_t preferred) const {
  if (directory_.empty()) return preferred;
  const int file = open_lock_file(directory_ + choice_file);
  if (file >= 0)
    (void)lock_one(
        file, [] { return 1; }, longest_choice);
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
