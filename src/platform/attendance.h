// The ranks of a job show each other that they have Blastoff, without any message. Each holds a name for as long as its
// process lives. The names are those of sockets, which belong to no file.
#pragma once

#include <cstdint>
#include <string>

namespace blastoff::platform {

/// This process as a rank of a job.
struct Rank {
  int rank = -1;
  int ranks = 0;        ///< of the job
  int local_ranks = 0;  ///< of the job on this node
  std::string run;      ///< the directory of the run, which all ranks on the node share; "" if there is none

  static Rank of_this_process(const char* run);
};

enum class Attendance : std::uint8_t {
  unknown,  ///< the job has other nodes, or no launcher
  partial,
  full,  ///< all ranks of the job are there
};

/// From now on this rank is there, for those who look for the same `likeness`. To be called when the library is loaded:
/// no rank has communicated with others before.
void attend(const Rank& rank, const std::string& likeness);

Attendance attendance(const Rank& rank, const std::string& likeness);

}  // namespace blastoff::platform
