// The functions of include/blastoff_blocks.h.

#include "../include/blastoff_blocks.h"

#include <cstdio>
#include <new>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "blocks/contraction.h"
#include "blocks/fill.h"
#include "platform/errno_guard.h"
#include "platform/threads.h"
#include "runtime/block_engine.h"

struct blastoff_block : blastoff::blocks::Block {
  using Block::Block;
};

namespace {

namespace blocks = blastoff::blocks;
using blocks::ErrorKind;
using blocks::failure;
using blocks::Status;

/// Every thread has one. With all other data of threads, two copies of the library must fit what glibc keeps for
/// libraries that a process opens later (some 1.6 KiB).
thread_local char latest_message[256] = "";

int report(const blocks::Error& error) {
  std::snprintf(latest_message, sizeof latest_message, "%s", error.message.c_str());
  return static_cast<int>(error.kind);
}

/// Runs work(Engine&), which returns a Status, while no signal handler of the program interrupts it. Returns the status
/// for the C interface.
template <class Work>
int run(const Work& work) {
  int status = BLASTOFF_OK;
  const bool complete = blastoff::platform::undisturbed([&] {
    const blastoff::platform::ErrnoGuard errno_stays;
    const blastoff::runtime::BlockCall call;
    const Status done = call.engine() == nullptr ? failure(ErrorKind::unsupported, call.why()) : work(*call.engine());
    if (!done) status = report(done.error());
  });
  if (complete) return status;
  std::snprintf(latest_message, sizeof latest_message, "no host memory for what is known of blocks");
  return BLASTOFF_OUT_OF_MEMORY;
}

Status bad_argument(std::string message) {
  return failure(ErrorKind::bad_argument, std::move(message));
}

Status check_block(const blastoff_block* block) {
  return block == nullptr ? bad_argument("a block is NULL") : Status{};
}

Status check_place(const blocks::Engine& engine, const blastoff_block* block, int place) {
  if (block == nullptr) return check_block(block);
  if (engine.is_place(place)) return {};
  return bad_argument(
      engine.devices() == 0
          ? fmt::format("there is no place {}: without a device, BLASTOFF_HOST (-1) is the only one", place)
          : fmt::format("there is no place {}: BLASTOFF_HOST is -1, devices are 0 to {}", place, engine.devices() - 1));
}

/// Returns the program's stream as a queue; nullptr if it is none.
blocks::Result<std::unique_ptr<blastoff::device::Queue>> adopt(blocks::Engine& engine, int place, void* stream) {
  if (stream == nullptr) return nullptr;
  if (place == blocks::host_place) return failure(ErrorKind::bad_argument, "on the host there is no stream");
  auto queue = engine.site(place).device().adopt_queue(stream);
  if (!queue) return failure(queue.error());
  return std::move(*queue);
}

std::optional<blocks::Access> access_of(blastoff_access access) {
  switch (access) {
    case BLASTOFF_READ: return blocks::Access::read;
    case BLASTOFF_WRITE: return blocks::Access::write;
    case BLASTOFF_UPDATE: return blocks::Access::update;
  }
  return std::nullopt;
}

/// Converts a coefficient of that type.
std::optional<blastoff::blas::Coefficient> coefficient(blastoff_type type, const void* value) {
  switch (type) {
    case BLASTOFF_FLOAT: return *static_cast<const float*>(value);
    case BLASTOFF_DOUBLE: return *static_cast<const double*>(value);
    case BLASTOFF_COMPLEX_FLOAT: {
      const auto* const parts = static_cast<const float*>(value);
      return blastoff::blas::Coefficient(parts[0], parts[1]);
    }
    case BLASTOFF_COMPLEX_DOUBLE: {
      const auto* const parts = static_cast<const double*>(value);
      return blastoff::blas::Coefficient(parts[0], parts[1]);
    }
  }
  return std::nullopt;
}

blastoff::blas::Scalar scalar_of(blastoff_type type) {
  using blastoff::blas::Scalar;
  switch (type) {
    case BLASTOFF_FLOAT: return Scalar::s;
    case BLASTOFF_DOUBLE: break;
    case BLASTOFF_COMPLEX_FLOAT: return Scalar::c;
    case BLASTOFF_COMPLEX_DOUBLE: return Scalar::z;
  }
  return Scalar::d;
}

Status check_type(blastoff_type type) {
  const int number = static_cast<int>(type);
  if (number >= BLASTOFF_FLOAT && number <= BLASTOFF_COMPLEX_DOUBLE) return {};
  return bad_argument(fmt::format("type {}; 0 (float) to 3 (complex double) are accepted", number));
}

Status check_tensor(const blastoff_tensor* tensor, const char* name) {
  if (tensor == nullptr || tensor->labels == nullptr || (tensor->extents == nullptr && *tensor->labels != 0))
    return bad_argument(fmt::format("tensor {} is NULL, or its labels or extents are", name));
  return check_block(tensor->block);
}

blocks::Tensor tensor_of(const blastoff_tensor& tensor) {
  std::string labels = tensor.labels;
  const std::size_t count = labels.size();
  return {*tensor.block, {std::move(labels), {tensor.extents, count}}};
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int blastoff_blocks_devices(void) {
  int devices = 0;
  (void)run([&](const blocks::Engine& engine) -> Status {
    devices = engine.devices();
    return {};
  });
  return devices;
}

[[gnu::visibility("default")]] const char* blastoff_blocks_message(void) {
  return latest_message;
}

[[gnu::visibility("default")]] int blastoff_blocks_get_options(blastoff_blocks_options* options) {
  return run([&](const blocks::Engine& engine) -> Status {
    if (options == nullptr) return bad_argument("the options are NULL");
    const blocks::Options now = engine.options();
    *options = {now.intents,       now.pinned,        now.pooled, now.asynchronous,
                now.device_memory, now.pinned_memory, now.direct, now.streams};
    return {};
  });
}

[[gnu::visibility("default")]] int blastoff_blocks_set_options(const blastoff_blocks_options* options) {
  return run([&](blocks::Engine& engine) -> Status {
    if (options == nullptr) return bad_argument("the options are NULL");
    for (const int option : {options->intents, options->pinned, options->pooled, options->asynchronous})
      if (option != 0 && option != 1) return bad_argument(fmt::format("an option is {}; 0 and 1 are accepted", option));
    if (options->direct < -1 || options->direct > 1)
      return bad_argument(fmt::format("the option direct is {}; -1, 0 and 1 are accepted", options->direct));
    if (options->streams < 0 || options->streams > blocks::max_streams)
      return bad_argument(
          fmt::format("the option streams is {}; 0 to {} are accepted", options->streams, blocks::max_streams));
    engine.set_options({options->intents != 0, options->pinned != 0, options->pooled != 0, options->asynchronous != 0,
                        options->device_memory, options->pinned_memory, options->direct,
                        options->streams == 0 ? blocks::usual_streams : options->streams});
    return {};
  });
}

[[gnu::visibility("default")]] int blastoff_blocks_get_counters(blastoff_blocks_counters* counters) {
  return run([&](blocks::Engine& engine) -> Status {
    if (counters == nullptr) return bad_argument("the counters are NULL");
    *counters = blastoff::runtime::counters_of(engine);
    return {};
  });
}

[[gnu::visibility("default")]] int blastoff_blocks_synchronize(void) {
  return run([](blocks::Engine& engine) { return engine.synchronize(); });
}

[[gnu::visibility("default")]] int blastoff_blocks_trim(void) {
  return run([](blocks::Engine& engine) -> Status {
    engine.trim();
    return {};
  });
}

[[gnu::visibility("default")]] int blastoff_block_create(size_t bytes, blastoff_block** block) {
  return run([&](blocks::Engine& engine) -> Status {
    if (block == nullptr) return bad_argument("there is no place for the new block: the pointer is NULL");
    *block = nullptr;
    if (bytes == 0) return bad_argument("a block of 0 bytes; 1 is the least");
    *block = new blastoff_block(engine, bytes, nullptr);
    return {};
  });
}

[[gnu::visibility("default")]] int blastoff_block_create_over(void* memory, size_t bytes, blastoff_block** block) {
  return run([&](blocks::Engine& engine) -> Status {
    if (block == nullptr) return bad_argument("there is no place for the new block: the pointer is NULL");
    *block = nullptr;
    if (memory == nullptr || bytes == 0) return bad_argument("a block over NULL, or over 0 bytes; 1 is the least");
    auto watched = engine.watch_memory(memory, bytes);
    if (!watched) return tl::unexpected(watched.error());
    *block = new blastoff_block(engine, bytes, std::move(*watched));
    return {};
  });
}

[[gnu::visibility("default")]] int blastoff_block_destroy(blastoff_block* block) {
  if (block == nullptr) return BLASTOFF_OK;
  return run([&](blocks::Engine&) -> Status {
    auto finished = block->finish();
    if (!finished && finished.error().kind == ErrorKind::conflict) return finished;
    delete block;
    return finished;
  });
}

[[gnu::visibility("default")]] size_t blastoff_block_bytes(const blastoff_block* block) {
  return block == nullptr ? 0 : block->bytes();
}

[[gnu::visibility("default")]] int blastoff_block_acquire(blastoff_block* block, int place, blastoff_access access,
                                                          void* stream, void** address) {
  return run([&](blocks::Engine& engine) -> Status {
    if (address == nullptr) return bad_argument("there is no place for the address: the pointer is NULL");
    *address = nullptr;
    if (auto ok = check_place(engine, block, place); !ok) return ok;
    const auto known = access_of(access);
    if (!known)
      return bad_argument(
          fmt::format("access {}; 0 (read), 1 (write) and 2 (update) are accepted", static_cast<int>(access)));
    auto queue = adopt(engine, place, stream);
    if (!queue) return tl::unexpected(queue.error());
    const auto acquired = block->acquire(place, *known, queue->get());
    if (!acquired) return tl::unexpected(acquired.error());
    *address = blocks::host_pointer(*acquired);
    return {};
  });
}

[[gnu::visibility("default")]] int blastoff_block_release(blastoff_block* block, int place, void* stream) {
  return run([&](blocks::Engine& engine) -> Status {
    if (auto ok = check_place(engine, block, place); !ok) return ok;
    auto queue = adopt(engine, place, stream);
    if (!queue) return tl::unexpected(queue.error());
    return block->release(place, queue->get());
  });
}

[[gnu::visibility("default")]] int blastoff_block_acquire_parts(blastoff_block* block, size_t part_bytes,
                                                                void** address) {
  return run([&](blocks::Engine&) -> Status {
    if (address == nullptr) return bad_argument("there is no place for the address: the pointer is NULL");
    *address = nullptr;
    if (auto ok = check_block(block); !ok) return ok;
    if (part_bytes == 0) return bad_argument("parts of 0 bytes; 1 is the least");
    const auto acquired = block->acquire_parts(part_bytes);
    if (!acquired) return tl::unexpected(acquired.error());
    *address = blocks::host_pointer(*acquired);
    return {};
  });
}

[[gnu::visibility("default")]] int blastoff_block_await_part(blastoff_block* block, size_t end) {
  return run([&](blocks::Engine&) -> Status {
    if (auto ok = check_block(block); !ok) return ok;
    return block->await_part(end);
  });
}

[[gnu::visibility("default")]] int blastoff_block_forward_part(blastoff_block* block, int place, size_t offset,
                                                               size_t bytes) {
  return run([&](const blocks::Engine& engine) -> Status {
    if (auto ok = check_place(engine, block, place); !ok) return ok;
    if (bytes > SIZE_MAX - offset) return bad_argument("bytes are forwarded that the block does not have");
    return block->forward_part(place, {offset, offset + bytes});
  });
}

[[gnu::visibility("default")]] int blastoff_block_abandon(blastoff_block* block, int place) {
  return run([&](const blocks::Engine& engine) -> Status {
    if (auto ok = check_place(engine, block, place); !ok) return ok;
    return block->abandon(place);
  });
}

[[gnu::visibility("default")]] int blastoff_blocks_enter(int place) {
  return run([&](blocks::Engine& engine) -> Status {
    if (!engine.is_place(place)) return bad_argument(fmt::format("there is no place {}", place));
    if (place == blocks::host_place) return {};
    auto entered = engine.site(place).device().enter();
    return entered ? Status{} : Status(failure(entered.error()));
  });
}

[[gnu::visibility("default")]] void blastoff_blocks_leave(int place) {
  (void)run([&](blocks::Engine& engine) -> Status {
    if (engine.is_place(place) && place != blocks::host_place) engine.site(place).device().leave();
    return {};
  });
}

[[gnu::visibility("default")]] int blastoff_blocks_fail(int status, const char* message) {
  std::snprintf(latest_message, sizeof latest_message, "%s", message);
  return status;
}

[[gnu::visibility("default")]] int blastoff_block_prefetch(blastoff_block* block, int place) {
  return run([&](const blocks::Engine& engine) -> Status {
    if (auto ok = check_place(engine, block, place); !ok) return ok;
    return block->prefetch(place);
  });
}

[[gnu::visibility("default")]] int blastoff_block_store(blastoff_block* block) {
  return run([&](const blocks::Engine&) -> Status {
    if (auto ok = check_block(block); !ok) return ok;
    return block->store();
  });
}

[[gnu::visibility("default")]] int blastoff_block_evict(blastoff_block* block, int place) {
  return run([&](const blocks::Engine& engine) -> Status {
    if (auto ok = check_place(engine, block, place); !ok) return ok;
    return block->evict(place);
  });
}

[[gnu::visibility("default")]] int blastoff_block_is_current(blastoff_block* block, int place) {
  bool current = false;
  (void)run([&](const blocks::Engine& engine) -> Status {
    if (auto ok = check_place(engine, block, place); !ok) return ok;
    current = block->is_current(place);
    return {};
  });
  return current ? 1 : 0;
}

[[gnu::visibility("default")]] int blastoff_block_newest(blastoff_block* block) {
  int newest = BLASTOFF_HOST;
  (void)run([&](const blocks::Engine&) -> Status {
    if (auto ok = check_block(block); !ok) return ok;
    newest = block->newest();
    return {};
  });
  return newest;
}

[[gnu::visibility("default")]] int blastoff_block_fill(blastoff_block* block, blastoff_type type, const void* value,
                                                       int place) {
  return run([&](blocks::Engine& engine) -> Status {
    if (auto ok = check_place(engine, block, place); !ok) return ok;
    if (auto ok = check_type(type); !ok) return ok;
    if (value == nullptr) return bad_argument("value is NULL");
    return blocks::fill(engine, *block, value, blastoff::blas::element_size(scalar_of(type)), place);
  });
}

[[gnu::visibility("default")]] int blastoff_block_contract(blastoff_type type, const void* alpha,
                                                           const blastoff_tensor* a, const blastoff_tensor* b,
                                                           const void* beta, const blastoff_tensor* c, int place) {
  return run([&](blocks::Engine& engine) -> Status {
    if (alpha == nullptr || beta == nullptr) return bad_argument("alpha or beta is NULL");
    const auto first = coefficient(type, alpha);
    const auto second = coefficient(type, beta);
    if (!first || !second) return check_type(type);
    for (const auto& [tensor, name] : {std::pair{a, "A"}, std::pair{b, "B"}, std::pair{c, "C"}})
      if (auto ok = check_tensor(tensor, name); !ok) return ok;
    if (auto ok = check_place(engine, c->block, place); !ok) return ok;
    return blocks::contract(engine, scalar_of(type), *first, tensor_of(*a), tensor_of(*b), *second, tensor_of(*c),
                            place);
  });
}
}
