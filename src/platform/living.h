// Whether a process that has left its id somewhere still runs.
#pragma once

#include <cstdint>
#include <optional>

namespace blastoff::platform {

/// A process as it names itself for others.
struct ProcessName {
  std::uint64_t pid = 0;
  std::uint64_t made = 0;           ///< when it named itself, or when it started, in nanoseconds since boot
  std::uint64_t pid_namespace = 0;  ///< the namespace of the id; 0 if not known
};

/// The namespace of process ids that this process belongs to; 0 if that cannot be known.
std::uint64_t pid_namespace();

/// When a process started, in nanoseconds since boot; nullopt if there is none with this id, or if it has ended and
/// nobody has waited for it.
std::optional<std::uint64_t> started_at(std::uint64_t pid);

/// Whether the process still runs. (Another process may have its id now.) nullopt if its id belongs to another
/// namespace, so that this cannot be known here.
std::optional<bool> is_living(const ProcessName& process);

}  // namespace blastoff::platform
