// A trace for the replay: its calls as operations on memory that is reserved for them and never touched.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "operation/operation.h"
#include "platform/span.h"
#include "prediction/recorded_call.h"

namespace blastoff::prediction {

/// What a trace tells of a call that all ranks of a grid make.
struct DistributedCall {
  std::uint32_t number = 0;  ///< the same on all ranks; other calls may have it, too
  bool failed = false;
  std::shared_ptr<const RecordedCall> whole{};  ///< on the first rank of the grid
};

struct TracedCall {
  operation::Operation operation;
  std::optional<DistributedCall> distributed{};  ///< the operation is then what this rank holds, without work
  double start = 0;                              ///< seconds since the start of the process
  std::optional<double> seconds;  ///< on the CPU, without calls inside the call; nullopt: a device made it
  double elapsed = 0;             ///< seconds with the calls inside it
  int thread = 0;
  double weight = 1;     ///< number of calls for which it stands
  std::size_t site = 0;  ///< number of the place in the program that makes it
  bool asked = true;     ///< tracing looked for writes before it; else `written` is filled in later
  std::vector<platform::Span> gone{};
  std::vector<platform::Span> written{};
  std::vector<std::pair<platform::Span, std::string>> untracked{};
};

/// Calls of one routine, small ones included.
struct RoutineCount {
  std::uint64_t calls = 0;
  double seconds = 0;
};

struct Trace {
  std::string program, command_line, host, cpu, writes;
  int cores = 1;
  int threads = 1;
  std::size_t memory = 0;  ///< bytes of main memory
  std::int64_t min_size = 0;
  double elapsed = 0;
  bool is_rank = false;                          ///< of MPI, as a batch system or mpirun has said
  bool complete = false;                         ///< the process ended by itself
  std::uint64_t unasked = 0;                     ///< calls before which writes were not looked for
  std::uint64_t unread = 0;                      ///< calls of routines that this version does not know
  std::map<std::string, RoutineCount> routines;  ///< if the trace is complete
  std::map<std::string, std::size_t> sites;      ///< object and offset -> number
  std::vector<TracedCall> calls;                 ///< in the order of their starts
};

/// The error names the file. If the last line was cut off, it is left out.
tl::expected<Trace, std::string> read_trace(const std::string& path);

}  // namespace blastoff::prediction
