// Which run a launcher belongs to: its own, or the run of an MPI job in which each rank has a launcher.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace blastoff::launcher {

/// This launcher as a member of a run.
struct Member {
  std::string directory;
  std::string entry;  ///< of this launcher in the directory
  std::string job;    ///< the name of the job, if the directory has it and all nodes of the job know it
  int ranks = 1;      ///< of the job on this node, which the directory is for
  std::chrono::steady_clock::time_point joined = std::chrono::steady_clock::now();
};

/// Joins the run of this launcher, or begins it; nullopt if no directory can be made for it.
std::optional<Member> join();

/// Leaves the run. A launcher whose program ends within seconds waits for those of the other ranks to join, which would
/// else be a run of their own. Returns whether this was its last launcher: it has renamed the directory then, so that
/// nobody can join; it reports all processes and removes the directory. Killed launchers do not count.
bool leave(Member& member);

}  // namespace blastoff::launcher
