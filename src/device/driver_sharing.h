// Whether the program uses the driver of a device itself.
//
// Memory of the program that we page-lock for results is page-locked for the program's own use of that driver, too: its
// copies into such memory are direct then and leave no trace in the page tables (measured: cuMemcpyDtoH and PyTorch's
// Tensor.copy_ into a result left a mirror stale), page-locking it again is refused to the program, and a library that
// asks whether memory is page-locked gets another answer. So nothing is page-locked from the moment on at which the
// program shows that it uses the driver.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace blastoff::device {

/// A library that is in the process, or is about to be loaded.
struct LibraryInProcess {
  std::string_view name;                     ///< DT_SONAME or file name, without a folder
  std::string_view requested_by = {};        ///< the object that opens it by dlopen, likewise; "": nobody known
  std::span<const std::string> needed = {};  ///< its DT_NEEDED entries, where they are known
};

/// What a library shows of the use of a device's driver by others than us.
enum class DriverUse : std::uint8_t {
  none,
  ready,  ///< it has the driver, and uses it where the program does
  used,   ///< the program uses it
};

/// Takes note of a library, from any thread, without a lock. True: it shows for the first time that the program uses
/// the driver of a device.
bool note_library(const LibraryInProcess& library);

/// For a process whose libraries nobody tells of: the program may use any driver at any time.
void assume_shared_driver();

/// Whether some library noted so far showed that.
bool program_uses_driver();

/// Whether anybody but us has the driver of a device: without that, none of the program's memory is known to it.
bool others_have_driver();

}  // namespace blastoff::device
