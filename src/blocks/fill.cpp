#include "blocks/fill.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace blastoff::blocks {

namespace {

/// Elements that one permutation copies at most.
constexpr std::size_t largest_piece = std::size_t{1} << 28;

/// Calls copy(first, count) until all elements are written: elements from 0 on are copied to `first`. The first one is
/// written already.
template <class Copy>
device::Status spread(std::size_t elements, const Copy& copy) {
  for (std::size_t written = 1; written < elements;) {
    const std::size_t count = std::min({written, elements - written, largest_piece});
    if (auto ok = copy(written, count); !ok) return ok;
    written += count;
  }
  return {};
}

Status fill_home(Block& block, const void* value, std::size_t element_size) {
  const auto address = block.acquire(host_place, Access::write, nullptr);
  if (!address) return tl::unexpected(address.error());
  auto* const to = static_cast<std::byte*>(host_pointer(*address));
  std::memcpy(to, value, element_size);
  (void)spread(block.bytes() / element_size, [&](std::size_t first, std::size_t count) -> device::Status {
    std::memcpy(to + first * element_size, to, count * element_size);
    return {};
  });
  return block.release(host_place, nullptr);
}

/// `value`: page-locked, and there until the queue's work has run.
device::Status write(device::Queue& queue, std::uint64_t address, const void* value, std::size_t elements,
                     std::size_t element_size) {
  if (auto ok = queue.copy_to_device(address, value, {.column_bytes = element_size}); !ok) return ok;
  return spread(elements, [&](std::size_t first, std::size_t count) {
    device::Permutation permutation;
    permutation.element_size = element_size;
    permutation.add({.extent = static_cast<std::int64_t>(count)});
    return queue.permute(address + first * element_size, address, permutation);
  });
}

Status fill_there(Engine& engine, Block& block, const void* value, std::size_t element_size, int place,
                  device::Queue& queue) {
  Site& site = engine.site(place);
  auto memory = engine.host_memory(element_size);
  if (!memory) return failure(memory.error());
  engine.counters().waited(memory->uses().finish());
  std::memcpy(host_pointer(memory->address()), value, element_size);
  const auto address = block.acquire(place, Access::write, &queue);
  if (!address) return tl::unexpected(address.error());
  const auto written =
      write(queue, *address, host_pointer(memory->address()), block.bytes() / element_size, element_size);
  if (!written) (void)queue.synchronize();
  Status done = block.release(place, &queue);
  if (!written) {
    block.forget();
    site.note(written.error());
    return failure(written.error());
  }
  if (auto point = site.points().record(queue))
    memory->uses().add(*point);
  else
    (void)queue.synchronize();
  return done;
}

}  // namespace

Status fill(Engine& engine, Block& block, const void* value, std::size_t element_size, int place) {
  if (block.bytes() % element_size != 0)
    return failure(
        ErrorKind::bad_argument,
        fmt::format("a block of {} bytes has no whole number of elements of {} bytes", block.bytes(), element_size));
  if (place == host_place) return fill_home(block, value, element_size);
  Status done;
  auto queued = engine.site(place).compute().run([&](device::Queue& queue) -> device::Status {
    done = fill_there(engine, block, value, element_size, place, queue);
    return {};
  });
  if (queued) return done;
  engine.site(place).note(queued.error());
  return failure(queued.error());
}

}  // namespace blastoff::blocks
