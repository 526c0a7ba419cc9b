// Checks every transfer of blastoff/blocks_mpi.hpp between all ranks, from and to the host and the first device. Parts
// are 4 KiB, so that small blocks have many parts. With a CUDA driver, also checks that a context is current at every
// direct message. Prints "ok" and what was tried, or what is wrong.
//
//   mpirun -n 2 blocks_mpi DIRECT every|few     DIRECT: the value of the option `direct`: -1, 0 or 1
#define BLASTOFF_MPI_PART_BYTES 4096
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "../../../include/blastoff/blocks_mpi.hpp"

namespace {

using blastoff::Block;

constexpr MPI_Comm world() {
  return MPI_COMM_WORLD;
}

int own_rank = 0;
int ranks = 1;
long transfers = 0;

// Less than a part, exactly one part, some parts, and more parts than are under way at a time.
std::vector<long long> lengths = {1, 511, 512, 513, 1024, 20 * 512 + 7};

std::vector<int> places() {
  return blastoff::devices() > 0 ? std::vector<int>{blastoff::host, 0} : std::vector<int>{blastoff::host};
}

[[noreturn]] void fail(const std::string& what) {
  std::printf("rank %d: %s\n", own_rank, what.c_str());
  std::fflush(stdout);
  MPI_Abort(world(), 1);
  std::abort();
}

long in_context = 0;

/// Checks that a context is current, since an MPI library looks at it at each message.
void expect_context(const char* function) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  static const auto current =
      driver == nullptr ? nullptr : reinterpret_cast<int (*)(void**)>(dlsym(driver, "cuCtxGetCurrent"));
  if (current == nullptr || blastoff::devices() == 0 || !blastoff::direct_messages()) return;
  void* context = nullptr;
  if (current(&context) != 0 || context == nullptr) fail(std::string(function) + " without a context");
  ++in_context;
}

double value(int seed, long long element) {
  return 1000.0 * seed + static_cast<double>(element % 977) + 0.5;
}

/// A block whose newest version is at `place`; if that is a device, it is nowhere else.
Block made(int seed, long long length, int place) {
  auto block = Block::of<double>(length);
  auto half = Block::of<double>(length);
  {
    auto home = (place == blastoff::host ? block : half).write();
    for (long long element = 0; element < length; ++element)
      home.as<double>()[element] = value(seed, element) / (place == blastoff::host ? 1 : 2);
  }
  if (place == blastoff::host) return block;
  auto one = Block::of<double>(1);
  *one.write().as<double>() = 1;
  blastoff::contract(2.0, {half, "i", {length}}, {one, "", {}}, 0.0, {block, "i", {length}}, place);
  if (block.is_current(blastoff::host)) fail("a block that was computed on the device is on the host");
  return block;
}

void expect(Block& block, int seed, long long length, const std::string& what) {
  const auto home = block.read();
  for (long long element = 0; element < length; ++element)
    if (home.as<double>()[element] != value(seed, element))
      fail(what + ": element " + std::to_string(element) + " is " + std::to_string(home.as<double>()[element]) +
           " instead of " + std::to_string(value(seed, element)));
  ++transfers;
}

void expect_at(const Block& block, int place, const std::string& what) {
  if (!block.is_current(place)) fail(what + ": the new version is not on place " + std::to_string(place));
}

void expect_error(int status, const std::function<void()>& work, const std::string& what) {
  try {
    work();
  } catch (const blastoff::Error& error) {
    if (error.status() == status) return;
    fail(what + ": status " + std::to_string(error.status()) + ", " + error.what());
  }
  fail(what + ": no error");
}

/// Even ranks send to their right neighbours, then odd ranks do.
void messages(long long length, int from, int to) {
  const int right = (own_rank + 1) % ranks;
  const int left = (own_rank + ranks - 1) % ranks;
  const Block sent = made(own_rank, length, from);
  auto received = Block::of<double>(length);
  if (to != blastoff::host) received.prefetch(to);
  const bool any = length % 2 == 0;
  for (const int turn : {0, 1}) {
    if (own_rank % 2 == turn)
      blastoff::send(sent, right, 7, world());
    else
      blastoff::receive(received, to, any ? MPI_ANY_SOURCE : left, any ? MPI_ANY_TAG : 7, world());
  }
  expect_at(received, to, "receive");
  expect_at(sent, from, "send");
  expect(received, left, length, "receive");
  blastoff::send(sent, MPI_PROC_NULL, 7, world());
}

void broadcasts(long long length, int from, int to) {
  for (int root = 0; root < ranks; ++root) {
    Block block = own_rank == root ? made(root + 10, length, from) : made(99, length, to);
    blastoff::bcast(block, to, root, world());
    if (own_rank != root) expect_at(block, to, "bcast");
    expect(block, root + 10, length, "bcast");
  }
}

/// Each rank puts blocks into all ranks' slots (a rank has one slot for each origin), and gets blocks that others have
/// put into other ranks' slots.
void windows(long long length, int from, int to) {
  const auto bytes = static_cast<std::size_t>(length) * sizeof(double);
  blastoff::Window window(std::vector<std::size_t>(static_cast<std::size_t>(ranks), bytes), world());
  for (const int round : {0, 1}) {
    for (int rank = 0; rank < ranks; ++rank) {
      const Block block = made(100 * round + 10 * own_rank + rank, length, from);
      window.put(block, rank, own_rank);
    }
    window.fence();
    auto block = Block::of<double>(length);
    for (int rank = 0; rank < ranks; ++rank) {
      for (int origin = 0; origin < ranks; ++origin) {
        window.get(block, to, rank, origin);
        expect_at(block, to, "get");
        expect(block, 100 * round + 10 * origin + rank, length, "get");
      }
    }
    window.fence();
  }
  auto smaller = Block::of<double>(length + 1);
  expect_error(
      BLASTOFF_BAD_ARGUMENT, [&] { window.get(smaller, to, 0, 0); }, "a get of another size");
  expect_error(
      BLASTOFF_BAD_ARGUMENT, [&] { window.get(smaller, to, ranks, 0); }, "a get from no rank");
  expect_error(
      BLASTOFF_BAD_ARGUMENT, [&] { window.get(smaller, to, 0, ranks); }, "a get from no slot");
}

/// Windows with slots of different sizes; some ranks have none.
void uneven_windows() {
  std::vector<std::size_t> sizes;
  if (own_rank > 0)
    for (const long long length : lengths) sizes.push_back(static_cast<std::size_t>(length) * sizeof(double));
  blastoff::Window window(sizes, world());
  if (own_rank == 0)
    for (int slot = 0; slot < static_cast<int>(lengths.size()); ++slot)
      window.put(made(slot, lengths[static_cast<std::size_t>(slot)], blastoff::host), ranks - 1, slot);
  window.fence();
  for (int slot = 0; slot < static_cast<int>(lengths.size()); ++slot) {
    auto block = Block::of<double>(lengths[static_cast<std::size_t>(slot)]);
    window.get(block, blastoff::host, ranks - 1, slot);
    expect(block, slot, lengths[static_cast<std::size_t>(slot)], "uneven");
  }
  window.destroy();
}

/// The newest of several versions is sent, also if the block lies over the program's own memory, which is watched.
void versions() {
  constexpr long long length = 5000;
  std::vector<double> memory(length);
  Block block = Block::over(memory.data(), length * sizeof(double));
  for (const int seed : {1, 2, 3}) {
    if (own_rank == 0) {
      for (long long element = 0; element < length; ++element)
        memory[static_cast<std::size_t>(element)] = value(seed, element);
      for (int rank = 1; rank < ranks; ++rank) blastoff::send(block, rank, seed, world());
      continue;
    }
    blastoff::receive(block, places().back(), 0, seed, world());
    expect(block, seed, length, "version");
    if (memory[length - 1] != value(seed, length - 1)) fail("the program's memory does not have what was received");
  }
}

/// A block that cannot be sent or received gives an error before any message, or an error on both sides.
void errors() {
  auto block = Block::of<double>(600);
  expect_error(
      BLASTOFF_NOTHING_THERE, [&] { blastoff::send(block, own_rank, 0, world()); }, "an empty block");
  {
    const auto held = block.write();
    expect_error(
        BLASTOFF_CONFLICT, [&] { blastoff::send(block, own_rank, 0, world()); }, "a block that is held");
  }
  expect_error(
      BLASTOFF_BAD_ARGUMENT, [&] { blastoff::receive(block, 77, own_rank, 0, world()); }, "no such place");
  (void)block.read();  // the block is unchanged
  MPI_Comm_set_errhandler(world(), MPI_ERRORS_RETURN);
  const Block full = made(1, 600, blastoff::host);
  expect_error(
      BLASTOFF_COMMUNICATION, [&] { blastoff::send(full, ranks, 0, world()); }, "no such rank");
  MPI_Comm_set_errhandler(world(), MPI_ERRORS_ARE_FATAL);
  const std::uint64_t sizes[] = {4808, 4096};
  MPI_Request request;
  PMPI_Isend(sizes, 2, MPI_UINT64_T, own_rank, 5, world(), &request);
  expect_error(
      BLASTOFF_BAD_ARGUMENT, [&] { blastoff::receive(block, blastoff::host, own_rank, 5, world()); },
      "a block of another size");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_error(
      BLASTOFF_NOTHING_THERE, [&] { (void)block.read(); }, "what was not received");
}

}  // namespace

// The MPI functions that carry messages are replaced here. They are also available under PMPI names.
extern "C" {

int MPI_Isend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request* request) {
  expect_context("MPI_Isend");
  return PMPI_Isend(data, count, type, rank, tag, comm, request);
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request* request) {
  expect_context("MPI_Irecv");
  return PMPI_Irecv(data, count, type, rank, tag, comm, request);
}

int MPI_Recv(void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Status* status) {
  expect_context("MPI_Recv");
  return PMPI_Recv(data, count, type, rank, tag, comm, status);
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  expect_context("MPI_Bcast");
  return PMPI_Bcast(data, count, type, root, comm);
}

int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  expect_context("MPI_Ibcast");
  return PMPI_Ibcast(data, count, type, root, comm, request);
}

}  // extern "C"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(world(), &own_rank);
  MPI_Comm_size(world(), &ranks);
  try {
    auto options = blastoff::options();
    if (argc != 3) fail("two arguments are needed: -1, 0 or 1, and every or few");
    options.direct = std::atoi(argv[1]);
    const bool few = argv[2] == std::string("few");
    if (few) lengths = {513, lengths.back()};
    blastoff::set_options(options);
    for (const long long length : lengths) {
      for (const int from : places()) {
        for (const int to : places()) {
          if (few && from == to && places().size() > 1) continue;
          messages(length, from, to);
          broadcasts(length, from, to);
          windows(length, from, to);
        }
      }
    }
    uneven_windows();
    versions();
    errors();
  } catch (const blastoff::Error& error) {
    fail(error.what());
  }
  const auto counters = blastoff::counters();
  std::printf("ok: rank %d of %d, %ld transfers, direct %d, devices %d, %ld in a context, %llu copies from devices\n",
              own_rank, ranks, transfers, blastoff::direct_messages() ? 1 : 0, blastoff::devices(), in_context,
              counters.copies_from_device);
  MPI_Finalize();
}
