#include "launcher/membership.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <tuple>
#include <vector>

#include "launcher/path.h"
#include "launcher/run_directories.h"
#include "platform/descriptor.h"
#include "platform/folder.h"
#include "platform/process.h"

namespace blastoff::launcher {

namespace {

constexpr std::size_t longest_name = 100;
/// For how long after its start a launcher waits for those of the other ranks.
constexpr std::chrono::seconds latest_start{2};
constexpr useconds_t look_microseconds = 5000;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// A name that all ranks of one job have in common, on all nodes; "" if the batch system gives none.
std::string job_name() {
  std::string name;
  for (const char* const source : {"PMIX_NAMESPACE", "PALS_APID", "FLUX_JOB_ID"})
    if (name.empty()) name = variable(source);
  if (const std::string step = variable("SLURM_STEP_ID"); name.empty() && !step.empty()) {
    const std::string restarts = variable("SLURM_RESTART_COUNT");
    name = variable("SLURM_JOB_ID") + "." + step + "." + (restarts.empty() ? "0" : restarts);
  }
  const auto may_stay = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           letter == '_' || letter == '.' || letter == '-';
  };
  std::ranges::replace_if(name, std::not_fn(may_stay), '_');
  return name.substr(0, longest_name);
}

/// The lock of a run's directory. False if the run has ended before, so that the path names another directory or none.
class Lock {
 public:
  explicit Lock(const std::string& directory) : file_(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    struct stat own {};
    struct stat there {};
    present_ = file_ && flock(file_.get(), LOCK_EX) == 0 && fstat(file_.get(), &own) == 0 &&
               stat(directory.c_str(), &there) == 0 && own.st_dev == there.st_dev && own.st_ino == there.st_ino;
  }
  explicit operator bool() const { return present_; }

 private:
  platform::Descriptor file_;
  bool present_ = false;
};

void count_launcher(const std::string& directory) {
  const std::string path = path_of(bulk(directory), joined_file);
  const platform::Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (file) std::ignore = write(file.get(), "+", 1);
}

/// Enters this launcher into the run. Does nothing if the run has a running launcher of this rank, and so is another
/// run; if it has just ended; or if another version has members in it.
std::optional<Member> enter(const std::string& directory, int rank) {
  const std::string entry = path_of(directory, std::string(launcher_prefix) + std::to_string(rank));
  const Lock lock(directory);
  if (!lock || has_strangers(directory)) return std::nullopt;
  if (const auto other = read_launcher(entry); other && is_running(*other)) return std::nullopt;
  if (!write_launcher(entry)) return std::nullopt;
  if (rank >= 0) count_launcher(directory);
  return Member{directory, entry, ""};
}

bool has_other_launchers(const Member& member) {
  for (const std::string& name : platform::names_in(member.directory)) {
    const std::string entry = path_of(member.directory, name);
    if (!name.starts_with(launcher_prefix) || entry == member.entry) continue;
    if (const auto other = read_launcher(entry); other && is_running(*other)) return true;
  }
  return false;
}

/// Waits until a launcher of each rank has joined. They start within seconds; a rank may have none.
void wait_for_ranks(const Member& member) {
  const auto missing = [&] {
    struct stat status {};
    return stat(path_of(bulk(member.directory), joined_file).c_str(), &status) == 0 && status.st_size < member.ranks;
  };
  while (missing() && std::chrono::steady_clock::now() - member.joined < latest_start) usleep(look_microseconds);
}

/// If the batch system gives no name to a job, the process that has started its ranks gives one for this node.
std::string starter_name() {
  const auto starter = static_cast<std::uint64_t>(getppid());
  return std::to_string(starter) + "_" + std::to_string(platform::started_at(starter).value_or(0));
}

}  // namespace

std::optional<Member> join() {
  const Places places = Places::of_environment();
  const int rank = platform::global_rank();
  const std::string job = rank < 0 ? "" : job_name();
  std::vector<std::string> names;
  // Twice, because the directory of an earlier job of this name may be removed right now.
  if (rank >= 0) names.assign(2, "job-" + (job.empty() ? starter_name() : job));
  names.push_back(std::to_string(getpid()) + "-" + nanoseconds_now());
  for (const std::string& name : names) {
    const std::string directory = places.create(name);
    auto member = directory.empty() ? std::nullopt : enter(directory, rank);
    if (!member) continue;
    if (&name == &names.back()) return member;
    member->job = job;
    member->ranks = platform::local_size();
    return member;
  }
  return std::nullopt;
}

bool leave(Member& member) {
  wait_for_ranks(member);
  const Lock lock(member.directory);
  if (!lock || has_other_launchers(member) || has_strangers(member.directory)) {
    unlink(member.entry.c_str());
    return false;
  }
  const std::string ended = member.directory + ".ended-" + std::to_string(getpid());
  if (rename(member.directory.c_str(), ended.c_str()) != 0) return false;
  member.directory = ended;
  return true;
}

}  // namespace blastoff::launcher
