#include "intercept/loading/redirection.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
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

/// Returns the function as the dynamic linker sees it; nullopt if its code differs from that in its file.
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

/// The layout of our code beside a function: the stub, the trampoline, and the code that reverses instructions before a
/// jump.
constexpr std::size_t stub_place = 0;
constexpr std::size_t trampoline_place = stub_place + patch::longest_entry_stub;
constexpr std::size_t undo_place = trampoline_place + patch::longest_trampoline;
constexpr std::size_t code_bytes = undo_place + patch::longest_undo_and_jump;

void put(std::vector<std::byte>& content, std::size_t place, const std::vector<std::byte>& code) {
  std::copy(code.begin(), code.end(), content.begin() + static_cast<std::ptrdiff_t>(place));
}

using Change = tl::expected<patch::FunctionPatch, patch::Obstacle>;

/// Makes a change for a function that other threads may be running. The code that reverses instructions goes into
/// `content`, or onto a page of its own.
Change change_running(const patch::FunctionCode& code, std::uintptr_t begin, std::vector<std::byte>& content) {
  const std::uintptr_t own = begin + undo_place, trampoline = begin + trampoline_place;
  for (const patch::JumpPlace& place : patch::relocator(patch::native).jump_places(code)) {
    auto change = patch::relocator(patch::native).patch_running(code, place, own, trampoline);
    if (!change) continue;
    if (place.first_target <= own && own <= place.last_target) {
      put(content, undo_place, patch::relocator(patch::native).undo_and_jump(place, own, begin));
      return change;
    }
    const auto island = platform::reserve_between(place.first_target, place.last_target, patch::longest_undo_and_jump);
    if (!island) continue;
    const Span pages = platform::outward_to_pages(*island);
    std::vector<std::byte> page(pages.bytes());
    put(page, island->begin - pages.begin, patch::relocator(patch::native).undo_and_jump(place, island->begin, begin));
    if (!platform::map_code(pages, page)) continue;
    return patch::relocator(patch::native).patch_running(code, place, island->begin, trampoline);
  }
  return tl::unexpected(patch::Obstacle::in_use);
}

}  // namespace

bool redirect(const char* symbol, const void* hook, std::atomic<void*>& original) {
  const auto function = find(symbol);
  if (!function) return false;
  const auto place = reserve_near(*function, code_bytes);
  if (!place) return false;
  const std::uintptr_t trampoline = place->begin + trampoline_place;
  const patch::FunctionCode code{{reinterpret_cast<const std::byte*>(function->address), function->size},
                                 function->room - function->size,
                                 function->address,
                                 {},
                                 true};
  const bool running = platform::has_other_threads();
  std::vector<std::byte> content(code_bytes);
  put(content, stub_place, patch::entry_stub(patch::native, 0, reinterpret_cast<std::uintptr_t>(hook)));
  const Change change = running ? change_running(code, place->begin, content)
                                : patch::relocator(patch::native).patch(code, place->begin, trampoline);
  if (!change) {
    platform::release(*place);
    return false;
  }
  put(content, trampoline_place, change->trampoline);
  if (!platform::map_code(*place, content)) return false;
  original.store(reinterpret_cast<void*>(trampoline), std::memory_order_release);
  platform::CodeWriter writer({function->address, function->address + function->room});
  const bool writable = !running || writer.writes_at_once();
  if (writable && writer.write(function->address + change->offset, change->jump)) return true;
  original.store(nullptr, std::memory_order_release);
  return false;
}

}  // namespace blastoff::intercept
