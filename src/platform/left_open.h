// Keeps files of this process open after its end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace blastoff::platform {

/// The descriptors of this process, in ascending order, whose names in /proc/self/fd begin with `name`.
std::vector<int> descriptors_of(std::string_view name);

/// Starts `closer`, the path of blastoff-closer (src/closer). It keeps these descriptors (given in ascending order)
/// open until this process has ended or executes another program. Closing the last descriptor of a file can take long,
/// and the kernel does so before it tells the parent that a process has ended. Returns false if the closer cannot be
/// started, or if it has nothing to do.
bool leave_open(const std::string& closer, const std::vector<int>& descriptors);

}  // namespace blastoff::platform
