// How a process ends that Blastoff has to end.
#pragma once

namespace blastoff::platform {

/// No correct result is possible (sysexits.h: EX_SOFTWARE).
inline constexpr int software_error = 70;

}  // namespace blastoff::platform
