// The measurements of bench/blocks_mpi.py, on two ranks. Prints a line of JSON for each figure. Arguments: "full" or
// "quick".
#include "blastoff/blocks_mpi.hpp"

#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "timing.hpp"

namespace {

using blastoff::Block;

int own_rank = 0;
int place = blastoff::host;  // the first device, if there is one

/// Makes the copy at `place` the only valid one, as a kernel that writes the block would.
void change(Block& block) {
  block.update(place);
}

/// Sends the block to the other rank and back. Each time, one device has the newest version, and another one needs it.
void there_and_back(Block& block) {
  if (own_rank == 0) {
    change(block);
    blastoff::send(block, 1, 0, MPI_COMM_WORLD);
    blastoff::receive(block, place, 1, 0, MPI_COMM_WORLD);
    block.read(place);
  } else {
    blastoff::receive(block, place, 0, 0, MPI_COMM_WORLD);
    change(block);
    blastoff::send(block, 0, 0, MPI_COMM_WORLD);
  }
}

/// The seconds of sending the block one way.
double message(Block& block, int repeats) {
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    seconds.push_back(seconds_of([&] { there_and_back(block); }) / 2);
  }
  return median(seconds);
}

double broadcast(Block& block, int repeats) {
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    if (own_rank == 0) change(block);
    MPI_Barrier(MPI_COMM_WORLD);
    seconds.push_back(seconds_of([&] {
      blastoff::bcast(block, place, 0, MPI_COMM_WORLD);
      block.read(place);
      MPI_Barrier(MPI_COMM_WORLD);
    }));
  }
  return median(seconds);
}

/// The seconds of a put into the other rank's memory, and of a get from there.
std::pair<double, double> one_sided(Block& block, int repeats) {
  blastoff::Window window({block.bytes()}, MPI_COMM_WORLD);
  std::vector<double> put;
  std::vector<double> get;
  for (int i = 0; i < repeats; ++i) {
    if (own_rank == 0) {
      change(block);
      put.push_back(seconds_of([&] { window.put(block, 1, 0); }));
    }
    window.fence();
    if (own_rank == 0)
      get.push_back(seconds_of([&] {
        window.get(block, place, 1, 0);
        block.read(place);
      }));
    window.fence();
  }
  return own_rank == 0 ? std::pair(median(put), median(get)) : std::pair(0.0, 0.0);
}

/// `memory`: the kind of memory through which messages go.
void measure(const char* memory, long long n, bool pinned, int direct) {
  auto options = blastoff::options();
  options.pinned = pinned ? 1 : 0;
  options.direct = direct;
  blastoff::set_options(options);
  auto block = Block::of<double>(static_cast<std::size_t>(n * n));
  {
    auto home = block.write();
    std::fill_n(home.as<double>(), n * n, 1.0);
  }
  const int repeats = n < 500 ? 50 : 11;
  (void)message(block, 2);  // makes connections and registers memory
  const double sent = message(block, repeats);
  const double shared = broadcast(block, repeats);
  const auto [put, get] = one_sided(block, repeats);
  if (own_rank != 0) return;
  std::printf(R"({"table": "mpi", "memory": "%s", "n": %lld, "send": %.9f, "bcast": %.9f, "put": %.9f, "get": %.9f})"
              "\n",
              memory, n, sent, shared, put, get);
}

void run(bool quick) {
  place = blastoff::devices() > 0 ? 0 : blastoff::host;
  // The option is still -1 here, so this is what the MPI says.
  const bool can = blastoff::direct_messages();
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(library, &length);
  library[std::strcspn(library, ",\n\"\\")] = '\0';
  std::replace(library, library + sizeof library, '\t', ' ');
  if (own_rank == 0)
    std::printf(R"({"table": "place", "place": %d, "mpi": "%s", "direct": %s})"
                "\n",
                place, library, can ? "true" : "false");
  std::vector<long long> sizes = {30, 100, 300, 500, 1000, 2000, 3000};
  if (quick) sizes.resize(3);
  for (const long long n : sizes) {
    measure("plain", n, false, 0);
    measure("page-locked", n, true, 0);
    if (can) measure("device", n, true, 1);
  }
}

}  // namespace

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (count != 2 || ranks != 2 || (std::strcmp(arguments[1], "full") != 0 && std::strcmp(arguments[1], "quick") != 0)) {
    if (own_rank == 0) std::fprintf(stderr, "usage, on two ranks: %s full | quick\n", arguments[0]);
    MPI_Finalize();
    return 2;
  }
  try {
    run(std::strcmp(arguments[1], "quick") == 0);
  } catch (const blastoff::Error& error) {
    std::fprintf(stderr, "rank %d: %s\n", own_rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
