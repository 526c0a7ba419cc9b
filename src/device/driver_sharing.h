// Whether the program itself uses the driver of a device.
//
// Memory that Blastoff page-locks for results is also page-locked for the program's own use of that driver. The
// program's copies into it are then direct and leave no trace in the page tables (measured: cuMemcpyDtoH and PyTorch's
// Tensor.copy_ into a result left a mirror stale). The program cannot page-lock it again, and a library that asks
// whether it is page-locked gets a different answer. So nothing is page-locked once the program is known to use the
// driver.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace blastoff::device {

/// A library that is in the process, or is about to be loaded.
struct LibraryInProcess {
  std::string_view name;                     ///< DT_SONAME or file name, without a folder
  std::string_view requested_by = {};        ///< the object that opens it by dlopen, without a folder; "": unknown
  std::span<const std::string> needed = {};  ///< its DT_NEEDED entries, if they are known
};

/// What a library tells about the use of a device's driver by others than Blastoff.
enum class DriverUse : std::uint8_t {
  none,
  ready,  ///< it has the driver, and uses it if the program tells it to
  used,   ///< the program uses it
};

/// Takes note of a library, from any thread, without a lock. Returns true if this library is the first to show that the
/// program uses the driver of a device.
bool note_library(const LibraryInProcess& library);

/// For a process in which library loads cannot be observed: the program may use any driver at any time.
void assume_shared_driver();

/// Whether a library noted so far has shown that the program uses the driver.
bool program_uses_driver();

/// Whether anybody but Blastoff has the driver of a device. If nobody has, none of the program's memory is registered
/// with it.
bool others_have_driver();

/// Whether a thread with this name is the driver's, and nobody but Blastoff has the driver.
bool is_drivers_thread_for_us(std::string_view name);

}  // namespace blastoff::device
