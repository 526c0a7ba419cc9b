// Files of this process that stay open after its end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace blastoff::platform {

/// The descriptors of this process, in ascending order, whose names in /proc/self/fd begin like this.
std::vector<int> descriptors_of(std::string_view name);

/// Starts `closer`, the path of blastoff-closer (src/closer), which keeps these descriptors, in ascending order, open
/// until this process has ended or executes another program. Closing the last descriptor of a file can take long, and
/// the kernel does it before it tells the parent that a process has ended. False: it cannot be started, or there is
/// nothing for it to do.
bool leave_open(const std::string& closer, const std::vector<int>& descriptors);

}  // namespace blastoff::platform
