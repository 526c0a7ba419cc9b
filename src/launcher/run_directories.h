// The directories in which the processes of a run keep their counters. The launcher makes and removes them; the library
// writes there (report/counter_file.h), and Python reads there (python/blastoff/job/runs.py).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/living.h"

namespace blastoff::launcher {

/// A `blastoff run` that waits for a program of the run has an entry in the run's directory: a symbolic link whose
/// target is its id, when it started, and the id's namespace. A link takes no page of a file system in memory.
inline constexpr std::string_view launcher_prefix = "launcher-";

/// Two empty files, in the run's directory on a disk if it has one: its lock shows that a launcher reads energy
/// counters; and a process keeps its marks if somebody reads them (report/marks.h).
inline constexpr const char* energy_lock = "energy.lock";
/// The file with a byte for each launcher that has joined the run.
inline constexpr const char* joined_file = "joined";

/// The time since 1970, for names that nobody else chooses.
std::string nanoseconds_now();

std::optional<platform::ProcessName> read_launcher(const std::string& entry);
bool write_launcher(const std::string& entry);

/// Whether a member of a run still runs. A member in another namespace of process ids counts as running unless it can
/// be seen that the namespace has no processes.
bool is_running(const platform::ProcessName& member);

/// Whether there are members whose entries this version cannot read, since another version may be installed too. It
/// cannot be known whether these members have ended.
bool has_strangers(const std::string& directory);

/// The names of this directory's and its disk's files.
std::vector<std::string> files_of_run(const std::string& directory);

/// The directory for the larger files of a run.
std::string bulk(const std::string& directory);

/// Removes a run's directory, and its directory on a disk.
void remove_run(const std::string& directory);

/// Where directories of runs may be.
struct Places {
  std::vector<std::string> memory;  ///< file systems in memory, where counting never waits for a disk
  std::vector<std::string> disk;

  static Places of_environment();
  /// The best place first.
  std::vector<std::string> all() const;

  /// The directory of the run of this name, made if it does not exist yet; "" if there is no place for it. If all
  /// members of an earlier run of this name have ended, its directory is removed first.
  std::string create(const std::string& name) const;

  /// Removes what killed launchers of this user have left behind on this machine.
  void sweep() const;

 private:
  std::string create_in(const std::string& base, const std::string& name) const;
  bool furnish(const std::string& directory, const std::string& name, bool in_memory) const;
  std::string create_on_disk(const std::string& name) const;
};

}  // namespace blastoff::launcher
