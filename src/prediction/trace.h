// A trace as it is replayed: its calls as operations on memory that is reserved for them and never touched.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "operation/operation.h"
#include "platform/span.h"

namespace blastoff::prediction {

struct TracedCall {
  operation::Operation operation;
  double start = 0;               ///< seconds since the start of the process
  std::optional<double> seconds;  ///< of the CPU, without calls inside the call; nothing: a device made it
  double elapsed = 0;             ///< seconds with these
  int thread = 0;
  double weight = 1;     ///< calls that it stands for
  std::size_t site = 0;  ///< number of the place in the program that makes it
  bool asked = true;     ///< writes were looked for before it; else `written` is filled in
  std::vector<platform::Span> gone;
  std::vector<platform::Span> written;
  std::vector<std::pair<platform::Span, std::string>> untracked;
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
  std::int64_t min_size = 0;
  double elapsed = 0;
  bool complete = false;                         ///< the process ended by itself
  std::uint64_t unasked = 0;                     ///< calls before which writes were not looked for
  std::uint64_t unread = 0;                      ///< calls of routines that are not known here
  std::map<std::string, RoutineCount> routines;  ///< of a complete trace
  std::map<std::string, std::size_t> sites;      ///< object and offset -> number
  std::vector<TracedCall> calls;                 ///< by start
};

/// The error names the file. A last line that was cut off is left out.
tl::expected<Trace, std::string> read_trace(const std::string& path);

}  // namespace blastoff::prediction
