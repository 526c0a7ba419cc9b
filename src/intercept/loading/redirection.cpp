#include "intercept/loading/redirection.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "intercept/patch/architecture.h"
#include "intercept/patch/entry_stub.h"
#include "intercept/patch/relocator.h"
#include "intercept/symbols/object_file.h"
#include "platform/code_memory.h"
#include "platform/fork_guard.h"

namespace blastoff::intercept {
namespace {

using platform::Span;

struct Function {
  std::uintptr_t address;
  std::size_t size;
  std::size_t room;  // up to the next function
};

/// The function as the dynamic linker sees it, if its code is still as in its file.
std::optional<Function> find(const char* symbol) {
  const platform::ForkGuard guard;
  const void* const address = dlsym(RTLD_NEXT, symbol);
  Dl_info info;
  void* entry = nullptr;
  void* map = nullptr;
  if (address == nullptr || dladdr1(address, &info, &entry, RTLD_DL_SYMENT) == 0 || entry == nullptr ||
      dladdr1(address, &info, &map, RTLD_DL_LINKMAP) == 0)
    return std::nullopt;
  const auto file = ObjectFile::open(info.dli_fname);
  if (!file || file->machine() != patch::native_machine) return std::nullopt;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  FunctionSymbol linked;
  linked.name = symbol;
  linked.address = at - static_cast<const link_map*>(map)->l_addr;
  linked.size = static_cast<const ElfW(Sym)*>(entry)->st_size;
  linked.exported = true;
  const FunctionExtent extent = file->extents(std::array{linked}).front();
  const auto bytes = file->bytes(linked.address, extent.room);
  if (extent.size == 0 || bytes.size() < extent.room || std::memcmp(bytes.data(), address, extent.room) != 0)
    return std::nullopt;
  return Function{at, extent.size, extent.room};
}

std::optional<Span> reserve_near(const Function& function, std::size_t bytes) {
  const Span code{function.address, function.address + function.room};
  const auto near = platform::reserve_near(code, bytes, patch::native_short_reach);
  return near ? near : platform::reserve_near(code, bytes, UINT64_MAX);
}

}  // namespace

bool redirect(const char* symbol, const void* hook, std::atomic<void*>& original) {
  const auto function = find(symbol);
  if (!function) return false;
  const auto place = reserve_near(*function, patch::longest_entry_stub + patch::longest_trampoline);
  if (!place) return false;
  const std::uintptr_t trampoline = place->begin + patch::longest_entry_stub;
  const patch::FunctionCode code{{reinterpret_cast<const std::byte*>(function->address), function->size},
                                 function->room - function->size,
                                 function->address};
  const auto change = patch::patch_function(patch::native, code, place->begin, trampoline);
  if (!change) {
    platform::release(*place);
    return false;
  }
  std::vector<std::byte> content = patch::entry_stub(patch::native, 0, reinterpret_cast<std::uintptr_t>(hook));
  content.resize(patch::longest_entry_stub);
  content.insert(content.end(), change->trampoline.begin(), change->trampoline.end());
  if (!platform::map_code(*place, content)) return false;
  original.store(reinterpret_cast<void*>(trampoline), std::memory_order_release);
  platform::CodeWriter writer({function->address, function->address + function->room});
  if (writer.write(function->address + change->offset, change->jump)) return true;
  original.store(nullptr, std::memory_order_release);
  return false;
}

}  // namespace blastoff::intercept
