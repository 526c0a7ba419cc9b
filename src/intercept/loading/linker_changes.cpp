#include "intercept/loading/linker_changes.h"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <span>

#include "intercept/patch/architecture.h"
#include "intercept/patch/counting_stub.h"
#include "intercept/patch/relocator.h"
#include "platform/code_memory.h"
#include "platform/fork_guard.h"

extern "C" {
constinit std::atomic<std::uint64_t> blastoff_linker_changes{0};
}

namespace blastoff::intercept {
namespace {

/// Writes the jump. The bytes behind the function's only instruction are written first, because no thread can run them.
bool write(std::uintptr_t address, std::span<const std::byte> jump) {
  platform::CodeWriter writer({address, address + jump.size()});
  const std::size_t first = patch::smallest_instruction;
  if (!writer.write(address + first, jump.subspan(first))) return false;
  return writer.write(address, jump.first(first));
}

}  // namespace

void notice_changes() {
  if (linker_changes() != 0) return;
  const platform::ForkGuard guard;
  const auto* const debug = static_cast<const r_debug*>(dlsym(RTLD_DEFAULT, "_r_debug"));
  const std::uintptr_t function = debug != nullptr ? debug->r_brk : 0;
  if (function == 0) return;
  const std::span code(reinterpret_cast<const std::byte*>(function), patch::room_of_empty_function);
  const auto stub = patch::counting_stub(patch::native, reinterpret_cast<std::uintptr_t>(&blastoff_linker_changes));
  const auto place = platform::reserve_near({function, function + code.size()}, stub.size(), patch::native_short_reach);
  if (!place) return;
  const auto change = patch::relocator(patch::native).patch_empty(code, function, place->begin);
  if (!change) return platform::release(*place);
  if (!platform::map_code(*place, stub)) return;
  blastoff_linker_changes = 1;
  if (!write(function + change->offset, change->jump)) blastoff_linker_changes = 0;
}

}  // namespace blastoff::intercept
