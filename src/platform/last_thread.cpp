#include "platform/last_thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "platform/backoff.h"
#include "platform/confinement.h"
#include "platform/contained.h"
#include "platform/descriptor.h"
#include "platform/folder.h"
#include "platform/threads.h"

namespace blastoff::platform {
namespace {

constexpr const char* tasks = "/proc/self/task/";

constinit LastThread last_thread{};
constinit pid_t process = 0;                     ///< a forked child has no threads of Blastoff, and is not looked after
constinit std::atomic<bool> own_threads{false};  ///< have been started
constinit std::atomic<bool> main_thread_ends{false};
constinit std::atomic<bool> waits{false};  ///< a thread waits for those of the program
sigset_t main_signals;                     ///< the main thread's mask at its end

/// The first line of a short file; "" if it cannot be read.
std::string line_of(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 256> text{};
  const ssize_t length = file ? read(file.get(), text.data(), text.size()) : 0;
  const std::string_view all(text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  return std::string(all.substr(0, all.find('\n')));
}

/// The main thread stays visible after its end, as a zombie.
bool main_thread_has_ended() {
  const std::string line = line_of(tasks + std::to_string(process) + "/stat");
  const std::size_t name_end = line.rfind(") ");  // a name may contain anything
  return name_end != std::string::npos && line.substr(name_end + 2, 1) == "Z";
}

bool is_of_program(const std::string& task) {
  const int id = std::atoi(task.c_str());
  if (id == process) return !main_thread_has_ended();
  return !is_own_thread(id) && !last_thread.is_for_blastoff(line_of(tasks + task + "/comm"));
}

/// All threads of the process if none of them is the program's; otherwise none.
std::vector<std::string> threads_without_program() {
  std::vector<std::string> threads = names_in(tasks);
  if (std::any_of(threads.begin(), threads.end(), is_of_program)) threads.clear();
  return threads;
}

/// A thread of the program that has just been created is seen, or its creator is: new threads are listed last. The
/// kernel ends the list early if a thread ends while it is being passed. Then the next list differs.
bool program_has_ended() {
  const std::vector<std::string> threads = threads_without_program();
  return !threads.empty() && threads == threads_without_program();
}

void wait_for_program() {
  if (!own_threads || !main_thread_ends || getpid() != process || waits.exchange(true)) return;
  waits = start_thread("blastoff-last", [] {
    constexpr int millisecond = 1000;
    Backoff looks({.first = 1, .max = 100});
    bool ended = false;
    while (!contained([&] { ended = program_has_ended(); }) || !ended)
      usleep(static_cast<useconds_t>(millisecond * looks.failed()));
    become_thread_of_program(main_signals);
    last_thread.end();
  });
}

/// The destructor of a value that only the main thread has. exit() calls none.
void note_end_of_main_thread(void*) {
  if (confined()) return;
  pthread_sigmask(SIG_SETMASK, nullptr, &main_signals);
  main_thread_ends = true;
  wait_for_program();
}

}  // namespace

void end_after(const LastThread& last) {
  last_thread = last;
  process = getpid();
  pthread_key_t key;
  if (gettid() != process || pthread_key_create(&key, note_end_of_main_thread) != 0) return;
  pthread_setspecific(key, &last_thread);
}

void note_own_thread() {
  own_threads = true;
  wait_for_program();
}

}  // namespace blastoff::platform
